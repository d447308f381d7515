# One image for every service; compose.yaml and the Kubernetes manifests say which program a container runs.
# Kept to what the classic builder and BuildKit both know.
ARG PYTHON_VERSION=3.11

FROM python:${PYTHON_VERSION}-slim AS environment
# Numbers, not names, are what secrets, volumes and the guardian's peer check go by.
RUN groupadd -g 10001 easyrider && useradd -u 10001 -g easyrider -M -d /tmp -s /usr/sbin/nologin easyrider \
 && python -m venv /opt/easyrider
ENV PATH=/opt/easyrider/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
COPY requirements/run.txt /opt/easyrider/requirements.txt
# --no-deps: the list is complete, so nothing is fetched that it does not name with its hash
RUN pip install --quiet --require-hashes --no-deps -r /opt/easyrider/requirements.txt

FROM environment AS wheel
WORKDIR /src
COPY . .
RUN pip wheel --quiet --no-index --no-deps --no-build-isolation -w /wheel .

FROM environment AS services
COPY --from=wheel /wheel /wheel
RUN pip install --quiet --no-index --no-deps /wheel/*.whl \
 # an empty volume takes over owner and mode of the folder that it is laid on
 && install -d -o 0 -g 10001 -m 02750 /run/easyrider \
 && install -d -o 0 -g 0 -m 0700 /var/lib/easyrider-guardian \
 && install -d -o 10001 -g 10001 -m 0750 /var/lib/easyrider /var/lib/easyrider/nats /var/lib/easyrider/redis \
 && install -d -o 10001 -g 10001 -m 0755 /run/easyrider-twin
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
