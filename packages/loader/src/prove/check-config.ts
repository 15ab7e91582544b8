import { withCommonConfig, type ResolvedConfig } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Compiled } from '../describe/extension.ts'
import { pointerOf } from '../files/schema-issues.ts'
import { ownMember } from '../model/plain-data.ts'
import { pass, passUnless, refuse, type Eventually, type Fault, type StageResult } from '../model/result.ts'
import type { SchemaFault } from '../schema/schema-compiler.ts'
import type { Terms } from './package-policy.ts'

/** What the operator has configured for the extension, and for each of its tools over that, satisfies its configSchema. */
export function configured(compiled: Compiled, terms: Terms): Eventually<StageResult<Compiled>> {
  const { outline: { id }, location, emptyConfigFault } = compiled
  if (isSpokenOf(compiled, terms)) return configuredBy(compiled, terms)
  return emptyConfigFault === null ? pass(compiled) : refuse(violation(terms.config, ['extensions', id, 'config'], emptyConfigFault, location))
}

/**
 * The same for a package that is not in use yet, such as one that is packed: what it wants to be configured with is told, and
 * nobody has to have done so.
 */
export function configurable(compiled: Compiled, terms: Terms): Eventually<StageResult<Compiled>> {
  const { outline: { id }, location, emptyConfigFault: fault } = compiled
  if (fault === null || fault.noThread || isSpokenOf(compiled, terms)) return configured(compiled, terms)
  const missing = violation(terms.config, ['extensions', id, 'config'], fault, location)
  return pass(compiled, [{ ...missing, message: `It must be configured before it can be used. ${missing.message}` }])
}

const isSpokenOf = ({ outline: { id, tools } }: Compiled, { config: { merged } }: Terms): boolean =>
  ownMember(merged.extensions, id) !== undefined || tools.some((name) => ownMember(merged.tools, name) !== undefined)

async function configuredBy(compiled: Compiled, { config, schemas }: Terms): Promise<StageResult<Compiled>> {
  const { outline: { id, tools, keepsState }, location, told, emptyConfigFault } = compiled
  // No thread is asked about the configuration that most extensions have.
  const checkConfig = async (value: JsonObject): Promise<SchemaFault | undefined> => Object.keys(value).length === 0
    ? emptyConfigFault ?? undefined : schemas.check(withCommonConfig(told.manifest().configSchema), value)
  const spread = ownMember(config.merged.extensions, id)?.compartments ?? 1
  if (spread > 1 && keepsState) {
    const what = { path: '', message: `spreads over ${spread} compartments an extension that keeps state between its calls` }
    return refuse(violation(config, ['extensions', id, 'compartments'], what, location))
  }
  const ofExtension: JsonObject = ownMember(config.merged.extensions, id)?.config ?? {}
  const fault = await checkConfig(ofExtension)
  if (fault !== undefined) return refuse(violation(config, ['extensions', id, 'config'], fault, location))

  const faults: Fault[] = []
  for (const name of tools) {
    const ofTool = ownMember(config.merged.tools, name) as JsonObject | undefined
    const toolFault = ofTool === undefined ? undefined : await checkConfig({ ...ofExtension, ...ofTool })
    if (toolFault !== undefined) faults.push(violation(config, ['tools', name], toolFault, location))
  }
  return passUnless(faults, compiled)
}

function violation(config: ResolvedConfig, steps: readonly string[], fault: SchemaFault, extension: string): Fault {
  const path = pointerOf(steps) + fault.path
  // None speaks of it when something that must be set is not.
  const source = config.layers.findLast((layer) => speaksOf(layer.config as Json, steps))
  return {
    stage: 'configSchema', code: fault.noThread ? 'SchemaCheckUnavailable' : 'ConfigSchemaViolation', path,
    message: `The configuration at ${visibleText(path)} ${fault.message}.`,
    location: source?.location ?? extension,
  }
}

function speaksOf(value: Json | undefined, steps: readonly string[]): boolean {
  const [first, ...rest] = steps
  if (first === undefined || value === undefined) return value !== undefined
  return typeof value === 'object' && value !== null && speaksOf(ownMember(value as JsonObject, first), rest)
}
