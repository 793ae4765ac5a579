{{- define "quiver.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* 40 characters: the names of roles and services grow from it. */}}
{{- define "quiver.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "quiver.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "quiver.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "quiver.selector" -}}
app.kubernetes.io/name: {{ include "quiver.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "quiver.labels" -}}
{{ include "quiver.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "quiver.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "quiver.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "quiver.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The generated rights: base, controllers by name, people. */}}
{{- define "quiver.rights" -}}
{{- tpl (.Files.Get "files/rights.yaml") . -}}
{{- end -}}

{{/* The names of the enabled controllers, with commas between them. */}}
{{- define "quiver.controllers" -}}
{{- $known := (include "quiver.rights" . | fromYaml).controllers -}}
{{- $enabled := list -}}
{{- range $name, $settings := .Values.controllers -}}
{{- if not (hasKey $known $name) -}}
{{- fail (printf "controllers.%s: there is no such controller; there are: %s" $name (keys $known | sortAlpha | join ", ")) -}}
{{- end -}}
{{- if $settings.enabled -}}
{{- $enabled = append $enabled $name -}}
{{- end -}}
{{- end -}}
{{- if not $enabled -}}
{{- fail "controllers: all of them are off, so there is nothing to run; enable one" -}}
{{- end -}}
{{- $enabled | sortAlpha | join "," -}}
{{- end -}}

{{- define "quiver.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "quiver.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
