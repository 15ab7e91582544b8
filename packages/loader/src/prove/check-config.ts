import { withCommonConfig, type ResolvedConfig } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Compiled } from '../describe/extension.ts'
import { pointerOf } from '../files/schema-issues.ts'
import { ownMember } from '../model/plain-data.ts'
import { pass, passUnless, refuse, type Fault, type StageResult } from '../model/result.ts'
import type { SchemaFault } from '../schema/schema-compiler.ts'
import type { ProofContext } from './package-policy.ts'

/** The configuration of the extension, and that of each tool merged over it, satisfies the configSchema. */
export async function checkConfig(compiled: Compiled, context: ProofContext): Promise<StageResult<Compiled>> {
  const { outline: { id }, location, emptyConfigFault } = compiled
  if (isConfigured(compiled, context)) return checkConfigured(compiled, context)
  return emptyConfigFault === null ? pass(compiled) : refuse(violation(context.config, ['extensions', id, 'config'], emptyConfigFault, location))
}

/** For a package that is not in use yet: a missing configuration is a warning. */
export async function warnAboutMissingConfig(compiled: Compiled, context: ProofContext): Promise<StageResult<Compiled>> {
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
    const fault = { path: '', message: `sets ${compartments} compartments for an extension that keeps state between calls` }
    return refuse(violation(config, ['extensions', id, 'compartments'], fault, location))
  }
  const ofExtension: JsonObject = ownMember(config.merged.extensions, id)?.config ?? {}
  const fault = await check(ofExtension)
  if (fault !== undefined) return refuse(violation(config, ['extensions', id, 'config'], fault, location))

  const faults: Fault[] = []
  for (const name of tools) {
    const ofTool = ownMember(config.merged.tools, name) as JsonObject | undefined
    const toolFault = ofTool === undefined ? undefined : await check({ ...ofExtension, ...ofTool })
    if (toolFault !== undefined) faults.push(violation(config, ['tools', name], toolFault, location))
  }
  return passUnless(faults, compiled)
}

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
