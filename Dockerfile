# One image for every service; compose.yaml and the Kubernetes manifests say which program a container runs.
# Kept to what the classic builder and BuildKit both know.
ARG PYTHON_VERSION=3.11

FROM python:${PYTHON_VERSION}-slim AS packages
RUN python -m venv /opt/easyrider
ENV PATH=/opt/easyrider/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/services.txt /requirements.txt
# --no-deps: the list is complete, so nothing is fetched that it does not name with its hash
RUN pip install --quiet --require-hashes --no-deps -r /requirements.txt

# Without what only installs or tests: two thirds of it, and the tables of symbols, are never read by a service.
FROM packages AS lean
RUN command -v strip >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends binutils >/dev/null; }
# libraries in *.libs were moved after they were linked, and strip breaks those; that nothing broke is seen below
RUN pip uninstall --quiet --yes pip setuptools \
 && find /opt/easyrider/lib -type d -name tests -prune -exec rm -r {} + \
 && find /opt/easyrider/lib -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} + \
 && python -B -c "import cryptography.x509, hiredis, msgpack, msgspec, nacl.bindings, psutil, pydantic, scipy.optimize, \
scipy.stats, statsmodels.api, uvloop, yaml, zstandard"

FROM python:${PYTHON_VERSION}-slim AS wheel
COPY requirements/build.txt /requirements.txt
RUN python -m venv /build && /build/bin/pip install --quiet --no-cache-dir --require-hashes --no-deps -r /requirements.txt
WORKDIR /src
COPY . .
RUN /build/bin/pip wheel --quiet --no-index --no-deps --no-build-isolation -w /wheel .

# What of /opt/easyrider is our own, as a layer of its own: a new version fetches little.
FROM packages AS ours
COPY --from=wheel /wheel /wheel
RUN touch /before && pip install --quiet --no-index --no-deps /wheel/*.whl && mkdir /ours && cd /opt/easyrider \
 && find . -type f -cnewer /before -print0 | tar --create --null --files-from=- | tar --extract --directory=/ours

FROM python:${PYTHON_VERSION}-slim AS services
# Numbers, not names, are what secrets, volumes and the guardian's peer check go by.
RUN groupadd -g 10001 easyrider && useradd -u 10001 -g easyrider -M -d /tmp -s /usr/sbin/nologin easyrider \
 # an empty volume takes over owner and mode of the folder that it is laid on
 && install -d -o 0 -g 10001 -m 02750 /run/easyrider \
 && install -d -o 0 -g 0 -m 0700 /var/lib/easyrider-guardian \
 && install -d -o 10001 -g 10001 -m 0750 /var/lib/easyrider /var/lib/easyrider/nats /var/lib/easyrider/redis \
 && install -d -o 10001 -g 10001 -m 0755 /run/easyrider-twin
ENV PATH=/opt/easyrider/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
COPY --from=lean /opt/easyrider /opt/easyrider
COPY --from=ours /ours /opt/easyrider
COPY deploy/image/ready.py /opt/easyrider/ready.py
USER 10001:10001
CMD ["easyrider", "--help"]

# The simulated NVML library: a compiler is wanted for it alone and stays behind.
FROM python:${PYTHON_VERSION}-slim AS twin-library
RUN command -v cc || { apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev >/dev/null; }
COPY shared/easyrider /src/easyrider
COPY twin/easyrider_twin /src/easyrider_twin
RUN PYTHONPATH=/src python -c "import pathlib, shutil; from easyrider_twin import library; \
shutil.copytree(library.folder(cache=pathlib.Path('/tmp/made')), '/opt/nvml')"

# The services, and hardware to try them on: those that compose.yaml points at this library find it in place of a
# driver's. A site with GPUs needs no more than the target `services`.
FROM services AS twin
COPY --from=twin-library /opt/nvml /opt/nvml
