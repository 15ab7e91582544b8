import {
  AGENT_TOOL, BulkheadError, compileCeiling, compileGrant, ERRORS, narrowPower, withCommonConfig,
  type CompartmentServices, type CompartmentTool, type Diagnostic, type ExtensionDescriptor, type Layer,
  type ToolManifest, type ToolMode, type VariableValues,
} from '@bulkhead/contract'
import { atPointer, canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { Extension } from '../lifecycle/extension.ts'
import type { ExtensionParts, Starter } from '../lifecycle/start.ts'
import { arrange, BOUND_KEYS, type Settings } from '../../model/settings.ts'
import type { RunningCalls } from '../running-calls.ts'
import { compileTool, located, pathOf, type ToolEntry, type ToolPowers } from './tool-entry.ts'
import type { SchemaCheck, Validators } from '../schema-checks.ts'
import type { SlotSources } from '../state-slot.ts'

/** An extension that could be offered: compiled, not started, not yet chosen over others of its name. */
export interface Candidate {
  readonly descriptor: ExtensionDescriptor
  readonly generation: number
  readonly extension: Extension
  readonly tools: readonly ToolEntry[]
  /** Why tools of a server were left out, with each tool's location in `data.path`. */
  readonly dropped: readonly BulkheadError[]
  /** Covers its bytes and its configuration. An equal fingerprint means no change. */
  readonly fingerprint: string
}

/** The parts of the services of one extension. */
export interface ServiceRequest {
  readonly descriptor: ExtensionDescriptor
  readonly slotCheck: SchemaCheck | undefined
  /** Answers questions while the extension starts. */
  readonly starter: () => Starter | undefined
  readonly migrate: SlotSources['migrate']
  readonly migrationMs: number
}

/** The services of one extension, and its running calls. */
export interface ExtensionServices {
  readonly running: RunningCalls
  /** Called for each start, so that variables have their present values. */
  create(): CompartmentServices
}

/** What all extensions of a host share. */
export interface CandidateSources extends Pick<ExtensionParts, 'sandbox' | 'events' | 'clock'> {
  readonly services: (request: ServiceRequest) => ExtensionServices
  readonly validators: Validators
  readonly settings: Settings
  readonly variables: VariableValues
  readonly lookUp: (id: string, asker: Extension) => Extension | undefined
}

/**
 * All tools of a package or none: throws the first fault, with its location in the manifest in `data.path`. Of a server
 * or a document, only the invalid tool is left out.
 */
export function prepareCandidate(
  descriptor: ExtensionDescriptor, generation: number, sources: CandidateSources,
): Candidate {
  const { settings, validators, sandbox, events, clock } = sources
  const { manifest } = descriptor
  const { stateSlot } = manifest
  const powers = manifest.tools
    .map((tool, index) => located(`/tools/${index}/requires`, () => powersOf(tool, descriptor, sources)))
  const arrangement = arrange(descriptor, settings)
  checkConfig(descriptor, { ...settings.extension(descriptor.id).config, ...arrangement.config }, validators)
  const slotCheck = stateSlot ? located('/stateSlot/schema', () => validators.compile(stateSlot.schema)) : undefined
  const services = sources.services({
    descriptor, slotCheck, migrationMs: arrangement.limits.phaseMs,
    starter: () => extension.starter,
    migrate: (stored, signal) => extension.migrateState(stored, signal),
  })
  const extension: Extension = new Extension({
    descriptor,
    generation,
    arrangement,
    tools: manifest.tools.map((tool, index): CompartmentTool => ({
      name: tool.name, grant: powers[index]!.grant, inputSchema: tool.inputSchema,
      requires: tool.requires as unknown as JsonObject,
    })),
    services: services.create,
    running: services.running,
    dependencies: () => manifest.dependsOn.map((id) => dependency(extension, id, sources)),
    sandbox,
    events,
    clock,
  })
  const dropped: BulkheadError[] = []
  const tools = manifest.tools.flatMap((tool, index) => {
    const source = {
      manifest: tool, descriptor, ...powers[index]!, extension, variables: sources.variables,
      powersWith: (variables: VariableValues) => powersOf(tool, descriptor, { settings, variables }),
    }
    try {
      return [located(`/tools/${index}`, () => compileTool(source, validators, settings))]
    } catch (thrown) {
      if (descriptor.server === undefined) throw thrown
      dropped.push(droppedTool(tool.name, descriptor.server.name, BulkheadError.from(thrown)))
      return []
    }
  })
  checkVerifiers(tools)
  return { descriptor, generation, extension, tools, dropped, fingerprint: fingerprintOf(descriptor, settings) }
}

/** A tool that tells what another one did is called when its outcome is unknown, so it must change nothing. */
function checkVerifiers(tools: readonly ToolEntry[]): void {
  for (const [index, { definition: { verify: name } }] of tools.entries()) {
    const verify = name === undefined ? undefined : tools.find((tool) => tool.name === name)?.definition
    if (verify === undefined || (verify.effects === 'none' && READING.has(verify.mode))) continue
    const { mode, effects } = verify
    const message = `The tool "${name}" cannot verify others: it has mode ${mode} and effects ${effects}. It `
      + 'needs effects none, and mode read, or external if it requires net.'
    throw new BulkheadError('ShapeInvalid', message, { data: { path: `/tools/${index}/verify` } })
  }
}

/** A tool that requests something with GET has the mode `external`. */
const READING: ReadonlySet<ToolMode> = new Set<ToolMode>(['read', 'external'])

function droppedTool(tool: string, server: string, { code, message, data }: BulkheadError): BulkheadError {
  return new BulkheadError(code, `The tool "${tool}" of "${server}" is not offered. ${message}`, { data: data as Json })
}

export function fingerprintOf(descriptor: ExtensionDescriptor, settings: Settings): string {
  const { digests, version, integrity, manifest } = descriptor
  const ofTools = manifest.tools.map(({ name }) => [
    settings.common('timeoutMs', name, descriptor) ?? null,
    ...BOUND_KEYS.map((key) => settings.bound(key, name, descriptor) ?? null),
  ])
  return canonicalJson([
    digests.package, digests.capability, version, integrity, arrange(descriptor, settings), ofTools,
    ...settings.ceilings.map(({ ceiling }) => ceiling),
  ] as unknown as Json)
}

/** The loader may not have known the configuration. Nothing is compiled if there is nothing to check. */
function checkConfig(
  { id, manifest: { configSchema } }: ExtensionDescriptor, config: JsonObject, validators: Validators,
): void {
  if (Object.keys(config).length === 0 && !('required' in configSchema)) return
  const check = located('/configSchema', () => validators.compile(withCommonConfig(configSchema)))
  const fault = check(config)
  if (!fault) return
  const message = `The configuration of "${id}"${atPointer(fault.path)} ${fault.message}.`
  throw new BulkheadError('ConfigSchemaViolation', message, { data: { path: fault.path } })
}

/** The declared power, and what the broker enforces: limited by the ceilings of the operator and the machine. */
function powersOf(
  { name, requires }: ToolManifest, { layer, manifest, server }: ExtensionDescriptor,
  { settings, variables }: Pick<CandidateSources, 'settings' | 'variables'>,
): ToolPowers {
  const { id, env, secrets, stateSlot } = manifest
  const subagents = layer === 'bundled' && name === AGENT_TOOL
  const extension = { env, secrets, state: stateSlot === null ? [] : [id], subagents }
  const declared = compileGrant(requires, variables, extension, server && 'server')
  let grant = declared
  const ceilings = settings.ceilings.map(({ location, ceiling }): ToolPowers['ceilings'][number] => {
    grant = narrowPower(grant, compileCeiling(ceiling, variables))
    return { source: `policy.ceiling of ${location}`, power: grant }
  })
  return { declared, grant, ceilings }
}

function dependency(dependent: Extension, id: string, { lookUp }: CandidateSources): Extension {
  const extension = lookUp(id, dependent)
  if (extension) return extension
  const message = `The extension "${dependent.descriptor.id}" depends on "${id}", which is no longer loaded.`
  throw new BulkheadError('DependencyMissing', message, { data: { extension: id } })
}

/** A warning: `below`, of a lower layer, is not used because it has the same id, and these of its tools are gone. */
export const hidingDiagnostic = (
  { id, layer, location }: ExtensionDescriptor, below: ExtensionDescriptor, tools: readonly string[],
): Diagnostic => ({
  severity: 'warning', stage: 'register', code: 'RegistrationConflict', layer, extensionId: id, location, path: '/id',
  message: `The ${below.layer} extension "${id}" is not used, because this one has the same id. Tools that only the `
    + `${below.layer} one has are not offered: ${tools.join(', ')}.`,
  cure: 'Give the extension another id, or let it offer these tools too.',
})

/** Why an extension is not offered, as a diagnostic. */
export function registrationDiagnostic(
  descriptor: ExtensionDescriptor, error: BulkheadError, fallbackTo?: Layer,
): Diagnostic {
  return {
    severity: 'error',
    stage: 'register',
    code: error.code,
    layer: descriptor.layer,
    extensionId: descriptor.id,
    location: descriptor.location,
    path: pathOf(error),
    message: error.message,
    cure: ERRORS[error.code].cure,
    ...(fallbackTo === undefined ? {} : { fallbackTo }),
  }
}
