import { openSync } from 'node:fs'
import process from 'node:process'
import { Worker } from 'node:worker_threads'
import { CodedError } from '../wire/errors.ts'
import { ALLOWED_GLOBALS } from './allow-list.ts'

const SCOPES = ['fs', 'fs.read', 'fs.write', 'net', 'child', 'worker', 'addon', 'wasi', 'inspector', 'ffi'] as const
const REMOVED_FROM_PROCESS = [
  'binding', '_linkedBinding', 'dlopen', 'getBuiltinModule', 'kill', 'report', 'loadEnvFile', 'mainModule',
] as const

/**
 * Tries what must be impossible after lockdown. Contract: throws LockdownFailed for the first thing that works, so that
 * no code of an extension runs with it.
 */
export async function probeLockdown(inspects: boolean): Promise<void> {
  for (const scope of SCOPES) {
    // Node ends the process if this right is dropped after use. Without the module it is of no use to an extension.
    if (inspects && scope === 'inspector') continue
    if (process.permission?.has(scope) !== false) throw failed(`the permission ${scope} is still there`)
  }
  denied('/ can be opened', () => openSync('/', 'r'))
  denied('a thread can be started', () => new Worker('0', { eval: true }))
  for (const name of REMOVED_FROM_PROCESS) {
    if (name in process) throw failed(`process.${name} is still there`)
  }
  if (Reflect.ownKeys(process.env).length > 0) throw failed('variables of the host are still there')
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!ALLOWED_GLOBALS.has(name) && !isEmptied(name)) throw failed(`the global ${name} is still there`)
  }
  if (isScript('%IsSmi(0)')) {
    throw failed('functions of V8 can be called', 'Start the host without --allow-natives-syntax, or use a process.')
  }
  for (const { name, prototype } of [Object, Function, Array, Promise, EventTarget]) {
    if (!Object.isFrozen(prototype)) throw failed(`a prototype can be changed: ${name}`)
  }
  await import('node:fs').then(() => {
    throw failed('node:fs can be imported')
  }, (error: unknown) => {
    if ((error as { readonly code?: unknown }).code !== 'BuiltinDenied') {
      throw failed('the import of node:fs was refused by something else than the module map')
    }
  })
}

function denied(what: string, attempt: () => unknown): void {
  try {
    attempt()
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ERR_ACCESS_DENIED') return
    throw failed(`${what}, or fails for another reason than the permission: ${String(error)}`)
  }
  throw failed(what)
}

function isEmptied(name: string): boolean {
  const { value, get, writable, configurable } = Object.getOwnPropertyDescriptor(globalThis, name)!
  return value === undefined && get === undefined && writable === false && configurable === false
}

function isScript(text: string): boolean {
  try {
    // oxlint-disable-next-line eslint/no-new-func -- it is parsed, not run, in a fifth of the time of a Script
    void new Function(text)
    return true
  } catch {
    return false
  }
}

const failed = (what: string, cure = 'Report this with the version of Node.'): CodedError =>
  new CodedError('LockdownFailed', `The compartment was not used: ${what}. ${cure}`)
