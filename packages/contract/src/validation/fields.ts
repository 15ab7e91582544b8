import type { JsonObject } from '@bulkhead/kit/json'
import { z } from 'zod'
import {
  ENV_NAME_PATTERN, EXTENSION_ID_PATTERN, HEADER_NAME_PATTERN, TOOL_NAME_PATTERN, WORKER_LABEL_PATTERN,
  WORKSPACE_NAME_PATTERN,
} from '../model/names.ts'
import { MOST_BYTES, SIZE_PATTERN } from '../model/sizes.ts'

// Fields that several files use. A message continues "expected …".

export const toolName = z.string().regex(TOOL_NAME_PATTERN, 'a letter, then up to 63 letters, digits, _ or -')
export const extensionId = z.string().regex(EXTENSION_ID_PATTERN, 'an extension id')
export const envName = z.string().regex(ENV_NAME_PATTERN, 'the name of an environment variable')
export const secretName = envName.describe('Name of an environment variable. Values are never written here.')
export const webUrl = z.url().regex(/^https?:\/\//, 'an http or https URL')
export const headerName = z.string().regex(HEADER_NAME_PATTERN, 'the name of a header')
export const workerLabel = z.string().regex(WORKER_LABEL_PATTERN, 'a label such as gpu or region=eu')
export const workspaceName = z.string().regex(WORKSPACE_NAME_PATTERN, 'a name such as shop, of letters, digits, . _ or -')
export const commandName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/, 'the bare name of an executable')
export const hostPattern = z.string().min(1).max(253).regex(
  /^(?:\*|(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/,
  'a host in lower case, such as api.example.com, *.example.com, localhost:8080, [::1]:8080, '
    + 'or * for every public name',
)

const number = '(?:0|[1-9]\\d*)'
const prereleasePart = `(?:${number}|\\d*[A-Za-z-][0-9A-Za-z-]*)`
const prerelease = `(?:-${prereleasePart}(?:\\.${prereleasePart})*)?`
const build = '(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?'
export const exactVersion = z.string().max(64)
  .regex(new RegExp(`^${number}\\.${number}\\.${number}$`), 'a version such as 1.0.0')
/** A full semver version. */
export const packageVersion = z.string().max(256)
  .regex(new RegExp(`^${number}\\.${number}\\.${number}${prerelease}${build}$`), 'a version such as 1.4.0')

/** A number of bytes, or a string such as `200KB`. */
export const byteSize = z.union([
  z.int().positive().max(MOST_BYTES), z.string().regex(SIZE_PATTERN, 'a size such as 200KB, below 10,000MB'),
]).describe('A size in bytes, or a string such as 200KB.')

// JSON Schemas inside a manifest: only the outline is checked here. The loader compiles them under limits.
type JsonSchemaField = z.ZodType<JsonObject>
export const objectSchema = z.looseObject({ type: z.literal('object').describe('Always object.') })
  .describe('A JSON Schema (2020-12) of type object.') as unknown as JsonSchemaField
export const anySchema = z.looseObject({}).describe('A JSON Schema (2020-12).') as unknown as JsonSchemaField
/** For the configuration of extensions and tools: unknown keys are rejected. */
export const configSchema = z.looseObject({
  type: z.literal('object').describe('Always object.'),
  additionalProperties: z.literal(false).describe('Always false: an unknown key is rejected.'),
}).describe('A JSON Schema (2020-12) of type object with additionalProperties false.') as unknown as JsonSchemaField
