import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'

const OWNER_ONLY = 0o177
const MOST_LINK_CHARS = 2_000

/** The socket of the inspector of a folder. Only this user can connect. */
export function linkSocket(home: string, workspace: string): string {
  const name = `inspect-${hash('sha256', workspace).slice(0, 12)}`
  return process.platform === 'win32'
    ? `\\\\.\\pipe\\bulkhead-${hash('sha256', home).slice(0, 12)}-${name}` : join(home, `${name}.sock`)
}

/** Prints a fresh link to each who connects. Returns how to stop. Rejects with ConfigInvalid if another inspector does it. */
export async function offerLinks(home: string, socket: string, link: () => string): Promise<() => void> {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  if (await freshLink(socket).catch(() => undefined) !== undefined) {
    throw new BulkheadError('ConfigInvalid', 'An inspector of this folder runs already. Get a link to it: bulkhead inspect --link')
  }
  // One that a killed inspector left.
  if (process.platform !== 'win32') rmSync(socket, { force: true })
  const server = createServer((connection) => {
    connection.on('error', () => undefined)
    connection.end(link())
  })
  const before = process.umask(OWNER_ONLY)
  try {
    server.listen(socket)
    await once(server, 'listening')
  } finally {
    process.umask(before)
  }
  return () => void server.close()
}

/** A fresh link of the inspector that runs. Rejects with NotFound. */
export async function freshLink(socket: string): Promise<string> {
  const connection = createConnection(socket)
  try {
    await once(connection, 'connect')
    return (await text(connection)).slice(0, MOST_LINK_CHARS)
  } catch (error) {
    const code = errorCode(error)
    if (code !== 'ENOENT' && code !== 'ECONNREFUSED') throw error
    throw new BulkheadError('NotFound', 'No inspector of this folder runs. Start one: bulkhead inspect')
  } finally {
    connection.destroy()
  }
}
