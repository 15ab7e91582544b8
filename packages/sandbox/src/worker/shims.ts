import type { AsyncLocalStorage } from 'node:async_hooks'
import process from 'node:process'
import { Script } from 'node:vm'
import type { AnyRuntime } from '@bulkhead/contract'
import type { Enter } from '../extension/extension-runner.ts'
import { CodedError } from '../wire/errors.ts'
import type { LoadRequest } from '../wire/protocol.ts'
import { isNative, SHIM_MODULES, type ShimCapability } from '../wire/shim-table.ts'
import { ALLOWED_BUILTINS, denial, mustDeclare, onlyInCalls, SHIM_GLOBALS } from './allow-list.ts'
import { lockNodeStreams } from './node-streams.ts'
import type { ShimHost, ShimPart } from './shims/host.ts'
import type { ShimLibrary } from './shims/library.ts'

/** Captured before extension code runs, which could replace them. */
const { defineProperty, freeze, keys } = Object
const { getBuiltinModule } = process
const symbolFor = Symbol.for
const Names = Set<string>

const CAPABILITIES = ['fs', 'net', 'shell', 'env'] as const

type Variables = Readonly<Record<string, string | undefined>>

/** What `process` of the compartment shows. Set by the shims of its extension. */
export const surroundings: { env: Variables; cwd: string; subtle: () => unknown } = {
  env: freeze({}), cwd: '/', subtle: () => undefined,
}

/** A name for the workspace, whose real path stays unknown. Below it, shims take paths as relative to the workspace. */
const WORKSPACE = '/workspace'
/** By which the module of a shim gets its members: an ES module can take them only from a global. */
const MEMBERS = 'bulkhead.shims'
let membersOf: (name: string) => object | undefined = () => undefined

interface CurrentCall {
  readonly runtime: AnyRuntime
  /** Undefined when the code of the extension does not name `process`. */
  readonly env: Variables | undefined
  /** Names that the call has read. */
  read?: Set<string>
}

export interface Shims {
  /** Runs a call with its runtime for the shims. Undefined when no tool declares a capability that has one. */
  readonly enter: Enter | undefined
  /** The source of the ES module that stands for a builtin. Undefined when the capability is not declared. */
  moduleSource(name: string): string | undefined
}

/**
 * Makes ordinary globals and modules available to an extension, over the `runtime` of the call in which they are used.
 * They have no power of their own: the broker checks each use. Their code is evaluated when one is first used.
 */
export function installShims(
  { tools, shims: source, natives = [], env = [], describes }:
    Pick<LoadRequest, 'tools' | 'shims' | 'natives' | 'env' | 'describes'>,
): Shims {
  const powers = new Set(tools.flatMap((tool) => tool.powers))
  // What a module declares is not known while it is described: all exist, and no call lends them its runtime.
  const declares = (capability: ShimCapability): boolean => describes === true
    || (capability === 'fs' ? powers.has('fs.read') || powers.has('fs.write') : powers.has(capability))
  const calls = CAPABILITIES.some(declares) ? storage() : undefined
  surroundings.env = environment(env, () => calls?.getStore())
  if (declares('fs') || declares('shell')) surroundings.cwd = WORKSPACE
  const host: ShimHost = {
    use<Part extends ShimPart>(what: string, part: Part) {
      const runtime = calls?.getStore()?.runtime
      if (runtime === undefined && declares(part)) throw outsideCall(what)
      if (runtime === undefined || !(part in runtime)) throw denied(what, part)
      return runtime[part]!
    },
    error: (code, message, data) => new CodedError(code, message, data && { data }),
    cwd: WORKSPACE,
    get fsMembers() {
      return keys(getBuiltinModule('node:fs'))
    },
    native(name) {
      if (isStarted) throw new CodedError('BuiltinDenied', denial(name))
      return getBuiltinModule(`node:${name}`)
    },
    get storages() {
      return getBuiltinModule('node:async_hooks').AsyncLocalStorage
    },
  }
  let isStarted = false
  let library: ShimLibrary | undefined
  const load = (): ShimLibrary => {
    library ??= evaluate(source ?? '', host)
    return library
  }
  defineGlobals(declares('net') ? () => load().globals : undefined)
  const exists = (name: string): boolean => {
    const capabilities = SHIM_MODULES.get(name)
    if (capabilities === undefined || capabilities.length > 0 && !capabilities.some(declares)) return false
    return name === 'process' || source !== undefined && (!isNative(name) || natives.includes(name))
  }
  const members = (name: string): object | undefined => {
    if (!exists(name)) return undefined
    return name === 'process' ? globalThis.process : load().module(name)
  }
  // Before the code of the extension runs, which could replace what they use.
  for (const name of natives) members(name)
  isStarted = true
  if (natives.includes('crypto')) surroundings.subtle = () => (members('crypto') as { readonly subtle: unknown }).subtle
  membersOf = members
  const isDefined = symbolFor(MEMBERS) in globalThis
  if (!isDefined) defineProperty(globalThis, symbolFor(MEMBERS), { value: (name: string) => membersOf(name) })
  return {
    enter: calls && ((runtime, variables, work) => calls.run({ runtime, env: variables }, work)),
    moduleSource(name) {
      if (!exists(name)) return undefined
      const names = keys(members(name)!).join(', ')
      return `const members = globalThis[Symbol.for('${MEMBERS}')]('${name}')
        export default members
        export const { ${names} } = members`
    },
  }
}

/** Loaded when an extension needs it. */
const storage = (): AsyncLocalStorage<CurrentCall> => new (getBuiltinModule('node:async_hooks').AsyncLocalStorage)()

function evaluate(source: string, host: ShimHost): ShimLibrary {
  // Shims extend its classes.
  lockNodeStreams()
  const builtin = (id: string): object | undefined =>
    ALLOWED_BUILTINS.has(id.slice('node:'.length)) ? getBuiltinModule(id) : undefined
  const { shimLibrary } = new Script(source, { filename: 'shims' }).runInThisContext()(builtin) as
    { readonly shimLibrary: (given: ShimHost) => ShimLibrary }
  return shimLibrary(host)
}

/** A tool that declares it may read each during a call. They are accessors, so that one object serves all calls. */
function environment(names: readonly string[], current: () => CurrentCall | undefined): Variables {
  const variables = { __proto__: null } as unknown as Variables
  for (const name of names) {
    defineProperty(variables, name, {
      enumerable: true,
      get() {
        const call = current()
        if (call?.env === undefined) throw denied(`process.env.${name}`, 'env')
        report(call, name)
        return call.env[name]
      },
    })
  }
  return freeze(variables)
}

/** The value came with the call. The host still gets to know that it is used. */
function report(call: CurrentCall, name: string): void {
  call.read ??= new Names()
  if (call.read.has(name)) return
  call.read.add(name)
  call.runtime.env!.get(name).catch(() => undefined)
}

/** Without `net`, each exists to say what to declare. */
function defineGlobals(load: (() => Readonly<Record<string, unknown>>) | undefined): void {
  const define = (name: string, value: unknown): void => {
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false })
  }
  if (load === undefined) {
    const [fetch, ...classes] = SHIM_GLOBALS
    define(fetch, async () => Promise.reject(denied(fetch, 'net')))
    for (const name of classes) {
      define(name, function undeclared() {
        throw denied(name, 'net')
      })
    }
    return
  }
  for (const name of [...SHIM_GLOBALS, 'Blob', 'File']) {
    defineProperty(globalThis, name, {
      configurable: true,
      enumerable: false,
      get() {
        const value = load()[name]
        define(name, value)
        return value
      },
      set: (value) => define(name, value),
    })
  }
}

const outsideCall = (what: string): CodedError =>
  new CodedError('CapabilityDenied', onlyInCalls(what), { data: { undeclared: what } })

const denied = (what: string, capability: ShimCapability): CodedError =>
  new CodedError('CapabilityDenied', mustDeclare(what, capability), { data: { undeclared: what } })
