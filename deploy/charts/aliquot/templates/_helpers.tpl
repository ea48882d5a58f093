{{- /* Names: cut to what a label may have. */ -}}
{{- define "aliquot.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "aliquot.fullname" -}}
{{- $name := include "aliquot.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "aliquot.scheduler" -}}
{{ printf "%s-scheduler" (include "aliquot.fullname" .) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "aliquot.webhookService" -}}
{{ printf "%s-webhook" (include "aliquot.scheduler" . | trunc 55 | trimSuffix "-") }}
{{- end }}

{{- define "aliquot.namespace" -}}
{{ default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- /* "true" if the daemon makes the webhook's certificate, else empty. */ -}}
{{- define "aliquot.autoCertificate" -}}
{{- if and .Values.certificates.auto (not .Values.certificates.existingSecret) (not .Values.scheduler.certManager.enabled) -}}
true
{{- end -}}
{{- end }}

{{- /* A name of its own for that one: of another type than Helm's, which cannot be changed. */ -}}
{{- define "aliquot.tlsSecret" -}}
{{- $suffix := ternary "webhook-tls" "tls" (eq (include "aliquot.autoCertificate" .) "true") -}}
{{ .Values.certificates.existingSecret | default (printf "%s-%s" (include "aliquot.scheduler" .) $suffix) }}
{{- end }}

{{- define "aliquot.webhookConfiguration" -}}
{{ printf "%s-webhook" (include "aliquot.fullname" .) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "aliquot.deviceConfigMap" -}}
{{ .Values.deviceConfig.existingConfigMap | default (printf "%s-device" (include "aliquot.scheduler" .)) }}
{{- end }}

{{- define "aliquot.selectorLabels" -}}
app.kubernetes.io/component: hami-scheduler
app.kubernetes.io/name: {{ include "aliquot.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "aliquot.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "aliquot.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* Name, namespace and labels of an object that is called like the Deployment. */ -}}
{{- define "aliquot.metadata" -}}
name: {{ include "aliquot.scheduler" . }}
namespace: {{ include "aliquot.namespace" . }}
labels:
  {{- include "aliquot.labels" . | nindent 2 }}
{{- end }}

{{- /* dict "image" MAP "tag" TEXT "root" $ */ -}}
{{- define "aliquot.image" -}}
{{- with .root.Values.global.imageRegistry | default .image.registry }}{{ . }}/{{ end -}}
{{ .image.repository }}:{{ .tag }}
{{- end }}

{{- /* The port in "host:port". */ -}}
{{- define "aliquot.metricsPort" -}}
{{ regexFind "[0-9]+$" .Values.scheduler.metricsBindAddress }}
{{- end }}

{{- define "aliquot.replicas" -}}
{{ ternary .Values.scheduler.replicas 1 .Values.scheduler.leaderElect }}
{{- end }}

{{- /* Hosts of the webhook's certificate, separated by commas: what the API server connects to. */ -}}
{{- define "aliquot.webhookHosts" -}}
{{- $url := .Values.scheduler.admissionWebhook.customURL -}}
{{ include "aliquot.webhookService" . }}.{{ include "aliquot.namespace" . }}.svc
{{- if $url.enabled }},{{ $url.host }}{{ end }}
{{- end }}
