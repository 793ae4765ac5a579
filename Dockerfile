# The operator's image for everyone who has Docker. Without it: `make image`.
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --target /packages -r requirements.lock
COPY src/quiver /packages/quiver

FROM python:3.11-slim
COPY --from=build /packages /packages
ENV PYTHONPATH=/packages PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["python3", "-m", "quiver"]
