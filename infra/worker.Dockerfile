# A container that runs `duebell worker` with your actions. Build it in a folder with duebell's wheel, your
# requirements.txt and your code; docs/how-to/containers.md says how.
ARG PYTHON=3.13
FROM python:${PYTHON}-slim

WORKDIR /app
COPY *.whl requirements.txt /install/
# As one command, so that pip chooses versions that fit both.
RUN pip install --no-cache-dir --find-links /install 'duebell[cli]' -r /install/requirements.txt

COPY . /app

# It writes no file, and needs no rights.
RUN useradd --system --no-create-home --uid 10001 duebell
USER 10001

# The actions: module:attribute. The scheduler: DUEBELL_NAME, or DUEBELL_TABLE and DUEBELL_RULE.
ENV PYTHONUNBUFFERED=1

# Inside the container only: it is asked here, by Docker or by what ECS is told to ask with.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8126', timeout=4)"]

# The first process gets the signal that drains it: no shell stands before it.
STOPSIGNAL SIGTERM
ENTRYPOINT ["duebell", "worker", "--health-port", "8126"]
