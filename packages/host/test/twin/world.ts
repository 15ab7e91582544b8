import { createHash } from 'node:crypto'
import { manifestSchema } from '@bulkhead/contract/validation'
import type {
  BulkheadEvent, CompartmentServices, ConfigFile, Diagnostic, EventOf, EventType, ExtensionDescriptor,
  ExtensionModule, ExtensionPhases, Layer, LayerConfig, LoadReport, ManifestInput, Outcome,
} from '@bulkhead/contract'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { createHost, type Host, type HostOptions } from '../../src/index.ts'
import { withFreshIds } from './fresh-ids.ts'
import { TwinSandbox, type TwinCompartment } from './sandbox.ts'
import { MemoryStore } from './store.ts'

/** The runtime of the twin: the members of every tool, and the services. */
export interface TwinRuntime {
  readonly callId: string
  readonly signal: AbortSignal
  progress(text: string): void
  update(partial: Json): void
  readonly services: CompartmentServices
}

type ToolInput = ManifestInput['tools'][number]
export interface ToolSketch extends Partial<Omit<ToolInput, 'name'>> {
  readonly execute?: (args: JsonObject, runtime: TwinRuntime) => unknown
  readonly deriveApprovalKey?: (args: JsonObject) => unknown
}

export interface ExtensionSketch extends Partial<Omit<ManifestInput, 'tools'>> {
  readonly layer?: Layer
  readonly tools?: Readonly<Record<string, ToolSketch>>
  readonly phases?: ExtensionPhases
  readonly migrateState?: ExtensionModule['migrateState']
  /** Changes the digest, as other bytes would. */
  readonly bytes?: string
  readonly readFiles?: () => Promise<ReadonlyMap<string, Uint8Array>>
  /** A bundled module. */
  readonly inline?: boolean
}

const READS: ToolInput['requires'] = { fs: { read: ['{workspace}'] } }
const sha512 = (text: string): string => createHash('sha512').update(text).digest('hex')

/** A verified extension and the code that the twin runs. By default its tools read the workspace. */
export function sketchExtension(sketch: ExtensionSketch): { descriptor: ExtensionDescriptor; module: ExtensionModule } {
  const { layer = 'global', tools = {
    echo: {},
  }, phases = {}, migrateState, bytes = '', inline = false, readFiles = async () => new Map(), ...fields } = sketch
  const manifest = manifestSchema.parse({
    kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '*', id: 'sample', version: '1.0.0', ...fields,
    tools: Object.entries(tools).map(([name, { execute: _execute, deriveApprovalKey: _derive, ...tool }]) =>
      ({ name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, requires: READS, ...tool })),
  })
  const module: ExtensionModule = {
    ...phases,
    ...(migrateState ? { migrateState } : {}),
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, { execute = (args: JsonObject) => args, deriveApprovalKey }]) => [
        name,
        { execute: execute as never, ...(deriveApprovalKey ? { deriveApprovalKey: deriveApprovalKey as never } : {}) },
      ]),
    ),
  }
  const descriptor: ExtensionDescriptor = {
    id: manifest.id, version: manifest.version, layer, location: `/layers/${layer}/${manifest.id}`, manifest,
    digests: {
      package: sha512(`${manifest.id} ${manifest.version} ${bytes}`),
      capability: sha512(canonicalJson(manifest.tools.map(({ requires }) => requires) as unknown as Json)),
      tools: new Map(manifest.tools.map((tool) => [tool.name, sha512(canonicalJson(tool as unknown as Json))])),
    },
    integrity: layer === 'bundled' ? 'bundled' : 'unpinned',
    code: inline ? { kind: 'module', module } : { kind: 'files', readFiles },
  }
  return { descriptor, module }
}

export interface WorldSketch extends Partial<Omit<HostOptions, 'report'>> {
  /** Whether a repeated id of a call gets a suffix. Default: true. */
  readonly repeatsIds?: boolean
  readonly extensions?: readonly ExtensionSketch[]
  readonly config?: ConfigFile
  readonly layers?: readonly LayerConfig[]
  /** Whether the embedder leaves approvals for projects off, as they are by default. */
  readonly sessionsOnly?: boolean
  readonly diagnostics?: readonly Diagnostic[]
}

export interface World {
  readonly host: Host
  readonly sandbox: TwinSandbox
  readonly store: MemoryStore
  readonly events: readonly BulkheadEvent[]
  eventsOf<Type extends EventType>(type: Type): readonly EventOf<Type>[]
  compartment(id?: string): TwinCompartment
  /** Sets what the source of the host finds. Another version, or other bytes, is a change. */
  find(found: Partial<Pick<WorldSketch, 'extensions' | 'config' | 'diagnostics'>>): LoadReport
  /** Reports a change of files. */
  stir(): void
}

/** Approvals for projects are off by default. */
export const FOR_PROJECTS: LayerConfig =
  { layer: 'embedder', location: 'overrides', config: { approvals: { project: true } } }

/** A host over twins of its ports. Keeps all events. */
export function createWorld(sketch: WorldSketch = {}): World {
  const {
    repeatsIds = true, extensions = [{}], config = {}, layers, sessionsOnly = false, diagnostics = [],
    store = new MemoryStore(),
    ...options
  } = sketch
  const sandbox = new TwinSandbox(new Map())
  let found = { extensions, config, diagnostics }
  const reportNow = (): LoadReport => {
    const sketched = found.extensions.map(sketchExtension)
    for (const {
      descriptor: { layer, id, version }, module,
    } of sketched)
      sandbox.add(`${layer}/${id}/${version}`, module)
    const file = found.config
    const own = layers ?? [{ layer: 'global', location: '/layers/global/config.json', config: file }]
    return {
      config: { merged: file, layers: sessionsOnly ? own : [...own, FOR_PROJECTS] },
      extensions: sketched.map(({ descriptor }) => descriptor),
      diagnostics: found.diagnostics,
    }
  }
  const stirs = new Set<() => void>()
  const bare = createHost({
    report: reportNow(),
    source: {
      load: async () => reportNow(),
      watch: (onChange) => {
        stirs.add(onChange)
        return () => stirs.delete(onChange)
      },
    },
    sandbox, store, workspace: '/work space', userData: '/data', env: () => undefined, ...options,
  })
  const host = repeatsIds ? withFreshIds(bare) : bare
  const events: BulkheadEvent[] = []
  host.on((event) => events.push(event))
  return {
    host, sandbox, store: store as MemoryStore, events,
    eventsOf: (type) => events.filter((event): event is EventOf<typeof type> => event.type === type),
    find: (next) => {
      found = { ...found, ...next }
      return reportNow()
    },
    stir: () => { for (const changed of stirs) changed() },
    compartment: (id = 'sample') => sandbox.compartments.findLast((compartment) => compartment.id === id)!,
  }
}

/** Approves everything, once. */
export const agreeable: NonNullable<Parameters<Host['openSession']>[0]> = {
  approver: { approve: async () => ({ decision: 'once' }) },
}

/** An outcome in one word: `output`, or the code of its error. */
export const verdictOf = (outcome: Outcome): string => outcome.type === 'output' ? 'output' : outcome.error.code

