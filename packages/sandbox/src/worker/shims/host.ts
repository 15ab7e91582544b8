import type { AsyncLocalStorage } from 'node:async_hooks'
import type { AnyRuntime } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { NativeModule } from '../../wire/shim-table.ts'

/** The parts of `runtime` that have shims. */
export type ShimPart = 'fs' | 'net' | 'shell'

/** What the shims get from the compartment. They have no power of their own. */
export interface ShimHost {
  /** That part of the runtime of the current call. Contract: throws what to declare when there is none. */
  use<Part extends ShimPart>(what: string, part: Part): NonNullable<AnyRuntime[Part]>
  /** An error with a code of the error table. */
  error(code: string, message: string, data?: JsonObject): Error
  /** A name for the workspace, as an absolute path. */
  readonly cwd: string
  /** Names of the members of Node's `node:fs`. */
  readonly fsMembers: readonly string[]
  /** Node's module, for a shim that passes it fresh bytes and numbers only. Contract: throws unless it was prepared. */
  native(name: NativeModule): unknown
  readonly storages: typeof AsyncLocalStorage
}

/**
 * A module with these members. The others that Node's has exist too, so that code which only names them can be
 * imported, and throw an error when they are called.
 */
export function shimModule(
  host: ShimHost, name: string, members: Readonly<Record<string, unknown>>, others: readonly string[], instead = '',
): object {
  const has = Object.keys(members).join(', ')
  const absent = (member: string) => function absentMember(): never {
    const only = has === '' ? '' : `, only ${has}`
    const message = `\`${member}\` of node:${name} does not exist in a compartment${only}.`
    throw host.error('BuiltinDenied', instead === '' ? message : `${message} ${instead}`, { module: name })
  }
  return Object.freeze({ ...Object.fromEntries(others.map((member) => [member, absent(member)])), ...members })
}

/** The path as the broker takes it: below the working directory it is relative to the workspace. */
export function brokerPath({ cwd }: ShimHost, path: string): string {
  if (path === cwd || path === `${cwd}/`) return '.'
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path
}

type Callback = (error: unknown, value?: unknown) => void

/** The callback form of a function that returns a promise. The callback is its last argument. */
export function withCallback(name: string, work: (...args: never[]) => Promise<unknown>): (...args: unknown[]) => void {
  return (...args) => {
    const callback = args.pop()
    if (typeof callback !== 'function') throw new TypeError(`The last argument of ${name} must be a callback.`)
    // In a microtask of its own: an error that the callback throws is not an error of the work.
    const call = (...given: Parameters<Callback>): void => queueMicrotask(() => void (callback as Callback)(...given))
    work(...args as never[]).then((value) => call(null, value), (error: unknown) => call(error))
  }
}
