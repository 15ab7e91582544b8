import { unknownSettings, withCommonConfig, type ResolvedConfig } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { manifestInfo, outlineOf, type Compiled, type Shaped, type ProofContext } from '../describe/extension.ts'
import { pointerOf } from '@bulkhead/contract/validation'
import { ownMember } from '../config/resolve-config.ts'
import { MAX_FAULTS, pass, refuse, type Fault, type StageResult } from '../model/result.ts'
import type { SchemaFault } from '../schema/schema-compiler.ts'
import { isConnected } from './check-manifest.ts'

interface DeclaredSchema {
  readonly path: string
  readonly schema: JsonObject
  /** Whether it is compiled now. Not if it is only shown, or comes from a server. */
  readonly compiles: boolean
  /** Whether values are checked against it. Results are not. */
  readonly isEnforced: boolean
}

/** All JSON Schemas of the manifest must compile, each within its limits and together within theirs. */
export async function checkSchemas(
  shaped: Shaped, { schemas: compiler, limits, coreVersion }: ProofContext,
): Promise<StageResult<Compiled>> {
  const { manifest, ...rest } = shaped
  const { configSchema } = manifest
  const declared = [...declaredSchemas(shaped)]
  if (configSchema['properties'] !== undefined && !isJsonObject(configSchema['properties'])) {
    return refuse(invalid('/configSchema', { path: '/properties', message: 'must have an object of properties' }))
  }
  const full = withCommonConfig(configSchema)
  const [config, ...verdicts] = await Promise.all([
    compiler.inspect(full), ...declared.map(({ schema, compiles }) => compiler.inspect(schema, compiles)),
  ])
  if (!config.ok) return refuseAll('/configSchema', config.faults)
  const most = isConnected(shaped) ? limits.subschemasPerServer : limits.subschemasPerExtension
  let left = most - config.subschemas
  for (const [index, verdict] of verdicts.entries()) {
    const { path } = declared[index]!
    if (!verdict.ok) return refuseAll(path, verdict.faults)
    left -= verdict.subschemas
    if (left < 0) {
      const message = `and the schemas before it have more than ${most} subschemas together`
      return refuse(invalid(path, { path: '', message }))
    }
  }
  const emptyConfigFault = needsNothing(full) ? null : await compiler.check(full, {}) ?? null
  if (emptyConfigFault?.noThread) return refuse(invalid('/configSchema', emptyConfigFault))
  const warnings = [config, ...verdicts].flatMap((verdict, index) => {
    const { path, isEnforced } = declared[index - 1] ?? { path: '/configSchema', isEnforced: true }
    if (!verdict.ok) return []
    const { unknownKeywords = [], idlePatterns = [] } = verdict
    // Unknown keywords of a server are removed, and its author does not read this.
    const found = [...isConnected(shaped) ? [] : unknownKeywords, ...isEnforced ? idlePatterns : []]
    return found.map((fault) => invalid(path, fault))
  })
  return pass(
    { ...rest, outline: outlineOf(manifest), info: manifestInfo(shaped, coreVersion), emptyConfigFault },
    warnings.slice(0, MAX_FAULTS),
  )
}

/** Only optional properties, so an empty object is always valid. */
const needsNothing = (schema: JsonObject): boolean => Object.keys(schema).every((keyword) => HARMLESS.has(keyword))
const HARMLESS: ReadonlySet<string> = new Set([
  '$schema', 'type', 'properties', 'additionalProperties', 'title', 'description',
])

function* declaredSchemas(shaped: Shaped): Generator<DeclaredSchema> {
  const compiles = !isConnected(shaped)
  const { manifest } = shaped
  if (manifest.stateSlot !== null) {
    yield { path: '/stateSlot/schema', schema: manifest.stateSlot.schema, compiles: true, isEnforced: true }
  }
  for (const [index, tool] of manifest.tools.entries()) {
    yield { path: `/tools/${index}/inputSchema`, schema: tool.inputSchema, compiles, isEnforced: true }
    const { outputSchema } = tool
    if (outputSchema !== undefined) {
      yield { path: `/tools/${index}/outputSchema`, schema: outputSchema, compiles: false, isEnforced: false }
    }
  }
}

const refuseAll = (schema: string, faults: readonly SchemaFault[]): StageResult<never> =>
  ({ ok: false, faults: faults.slice(0, MAX_FAULTS).map((fault) => invalid(schema, fault)) })

const invalid = (schema: string, { path, message, noThread }: SchemaFault): Fault => ({
  stage: 'configSchema', code: noThread ? 'SchemaCheckUnavailable' : 'ConfigSchemaInvalid',
  path: schema + path, message: `The schema at ${schema} ${path === '' ? '' : `is wrong at ${path}: it `}${message}.`,
})

/** The configuration of the extension, and that of each tool merged over it, satisfies the configSchema. */
export async function checkConfig(compiled: Compiled, context: ProofContext): Promise<StageResult<Compiled>> {
  const { outline: { id }, location, emptyConfigFault } = compiled
  if (isConfigured(compiled, context)) return checkConfigured(compiled, context)
  return emptyConfigFault === null
    ? pass(compiled) : refuse(violation(context.config, ['extensions', id, 'config'], emptyConfigFault, location))
}

/** For a package that is not in use yet: a missing configuration is a warning. */
export async function warnAboutMissingConfig(
  compiled: Compiled, context: ProofContext,
): Promise<StageResult<Compiled>> {
  const { outline: { id }, location, emptyConfigFault: fault } = compiled
  if (fault === null || fault.noThread || isConfigured(compiled, context)) return checkConfig(compiled, context)
  const missing = violation(context.config, ['extensions', id, 'config'], fault, location)
  return pass(compiled, [{ ...missing, message: `Configure the extension before you use it. ${missing.message}` }])
}

const isConfigured = ({ outline: { id, tools } }: Compiled, { config: { merged } }: ProofContext): boolean =>
  ownMember(merged.extensions, id) !== undefined || tools.some((name) => ownMember(merged.tools, name) !== undefined)

async function checkConfigured(compiled: Compiled, { config, schemas }: ProofContext): Promise<StageResult<Compiled>> {
  const { outline: { id, tools, keepsState }, location, info, emptyConfigFault } = compiled
  // The result for an empty configuration is known, so the common case needs no thread.
  const check = async (value: JsonObject): Promise<SchemaFault | undefined> => Object.keys(value).length === 0
    ? emptyConfigFault ?? undefined : schemas.check(withCommonConfig(info.manifest().configSchema), value)
  const compartments = ownMember(config.merged.extensions, id)?.compartments ?? 1
  if (compartments > 1 && keepsState) {
    const fault = {
      path: '', message: `sets ${compartments} compartments for an extension that keeps state between calls`,
    }
    return refuse(violation(config, ['extensions', id, 'compartments'], fault, location))
  }
  const ofExtension: JsonObject = ownMember(config.merged.extensions, id)?.config ?? {}
  const fault = await check(ofExtension)
  if (fault !== undefined) return refuse(violation(config, ['extensions', id, 'config'], fault, location))

  const faults: Fault[] = []
  const warnings: Fault[] = []
  for (const name of tools) {
    const ofTool = ownMember(config.merged.tools, name) as JsonObject | undefined
    if (ofTool === undefined) continue
    // A misspelt key must not cost the tool.
    const unknown = unknownSettings(info.manifest().configSchema, ofTool)
    warnings.push(...unknown.map((key) => ({
      ...violation(config, ['tools', name, key], NO_SETTING, location),
      cure: `Remove it, or correct its name. ${name} has ${settingsOf(info.manifest().configSchema)}.`,
    })))
    const known = Object.fromEntries(Object.entries(ofTool).filter(([key]) => !unknown.includes(key)))
    const toolFault = await check({ ...ofExtension, ...known })
    if (toolFault !== undefined) faults.push(violation(config, ['tools', name], toolFault, location))
  }
  return faults.length > 0 ? { ok: false, faults } : pass(compiled, warnings.slice(0, MAX_FAULTS))
}

const NO_SETTING: SchemaFault = { path: '', message: 'is not a setting of the tool. It has no effect' }

const settingsOf = (schema: JsonObject): string =>
  Object.keys(withCommonConfig(schema)['properties'] as JsonObject).map((key) => visibleText(key)).join(', ')

function violation(config: ResolvedConfig, steps: readonly string[], fault: SchemaFault, extension: string): Fault {
  const path = pointerOf(steps) + fault.path
  // No layer sets it when a required value is missing; the fault is then at the extension.
  const source = config.layers.findLast((layer) => hasMember(layer.config as Json, steps))
  return {
    stage: 'configSchema', code: fault.noThread ? 'SchemaCheckUnavailable' : 'ConfigSchemaViolation', path,
    message: `The configuration at ${visibleText(path)} ${fault.message}.`,
    location: source?.location ?? extension,
  }
}

function hasMember(value: Json | undefined, steps: readonly string[]): boolean {
  const [first, ...rest] = steps
  if (first === undefined || value === undefined) return value !== undefined
  return typeof value === 'object' && value !== null && hasMember(ownMember(value as JsonObject, first), rest)
}
