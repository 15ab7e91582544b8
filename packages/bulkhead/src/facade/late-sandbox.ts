import {
  BulkheadError, mayChangeDisk, NO_COMMAND_WALLS, type MissingWall, type Sandbox, type ServerJail,
} from '@bulkhead/contract'
import { loadLateLibraries } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { loadImages } from '@bulkhead/kit/pool'
import { loadLateCode as loadBundled } from '@bulkhead/tools-bundled'
import type { ConnectedServers } from './connected-servers.ts'
import { loadPrompts } from './terminal/terminal-interactor.ts'

/**
 * A sandbox that is created when the first compartment opens: listing tools does not need it. If creation fails, the
 * next open tries again. `prepare` runs once, before the first compartment opens whose code could change the disk.
 */
export function lateSandbox(
  make: () => Promise<Sandbox>, prepare: () => Promise<unknown> = async () => undefined,
): Sandbox {
  let preparing: Promise<unknown> | undefined
  let making: Promise<Sandbox> | undefined
  let closed = false
  const listeners: ((missing: MissingWall) => void)[] = []
  const made = (): Promise<Sandbox> => {
    making ??= make().then((sandbox) => {
      for (const listener of listeners) sandbox.watchWalls?.(listener)
      return sandbox
    }).catch((error: unknown) => {
      making = undefined
      throw withoutBlame(error)
    })
    return making
  }
  const prepared = (): Promise<unknown> => {
    preparing ??= prepare().catch((error: unknown) => {
      preparing = undefined
      throw withoutBlame(error)
    })
    return preparing
  }
  return {
    async open(request) {
      if (closed) throw new BulkheadError('HostClosed', 'The sandbox is closed.')
      const sandbox = await made()
      if (request.placement !== 'inline' && mayChangeDisk(request)) await prepared()
      return sandbox.open(request)
    },
    async prepare(coming) {
      if (!closed) await (await made().catch(() => undefined))?.prepare?.(coming)
    },
    watchWalls(listener) {
      listeners.push(listener)
      void making?.then((sandbox) => sandbox.watchWalls?.(listener), () => undefined)
    },
    async tryWalls() {
      if (!closed) await (await made().catch(() => undefined))?.tryWalls?.()
    },
    async diff(writes, grant) {
      return await (await made()).diff?.(writes, grant) ?? ''
    },
    async whyUnrecorded(grant, signal) {
      return (await made()).whyUnrecorded?.(grant, signal)
    },
    async whyNotStarted(grant, wall, denials) {
      return (await made()).whyNotStarted?.(grant, wall, denials)
    },
    async commandWalls() {
      return await (await made()).commandWalls?.() ?? NO_COMMAND_WALLS
    },
    async walls() {
      return await (await made()).walls?.() ?? []
    },
    async close() {
      closed = true
      const sandbox = await making?.catch(() => undefined)
      // Pending opens finish first and are then closed with the sandbox.
      await preparing?.catch(() => undefined)
      await sandbox?.close()
    },
  }
}

/** A jail whose code is loaded when the first server starts. If that fails, the next start tries again. */
export function lateJail(make: () => Promise<ServerJail>): ServerJail {
  let making: Promise<ServerJail> | undefined
  const made = (): Promise<ServerJail> => {
    making ??= make().catch((error: unknown) => {
      making = undefined
      throw withoutBlame(error)
    })
    return making
  }
  return {
    prepare: async (...start) => (await made()).prepare(...start),
    findFault: async (grant) => (await made()).findFault(grant),
  }
}

const NO_ROOM = /\bE(?:MFILE|NFILE|NOMEM|AGAIN)\b|too many open files/i

/**
 * A lack of file descriptors or memory is not an error of the extension, so it becomes NoPlaceFree, which is retryable.
 */
function withoutBlame(error: unknown): unknown {
  const why = messageOf(error)
  if (BulkheadError.is(error) || !NO_ROOM.test(why)) return error
  const message = `The sandbox could not be loaded: ${why}. Try again when more system resources are available.`
  return new BulkheadError('NoPlaceFree', message, { cause: error })
}

/**
 * Loads all code that a tool can make the host load, before code runs that could replace it on the disk. Code that
 * cannot be loaded fails later, when it is used.
 */
export async function loadLateCode(servers: ConnectedServers): Promise<void> {
  loadLateLibraries()
  await Promise.all([loadBundled(), servers.loadLateCode(), loadPrompts()])
  await loadImages().catch(() => undefined)
}
