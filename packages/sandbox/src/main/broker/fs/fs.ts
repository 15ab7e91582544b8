import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, opendir, rename, unlink } from 'node:fs/promises'
import type { DirectoryEntry, FileStat, Json, JsonObject } from '@bulkhead/contract'
import { BulkheadError, isJsonObject } from '@bulkhead/contract'
import type { Capabilities, OpenCall } from './capability.ts'
import { textArgument } from './capability.ts'
import { isMissing } from './file-fault.ts'
import { FileScope } from './file-scope.ts'
import type { HeldFolder } from './file-scope.ts'

/** Read or written at once; a larger file is read in ranges. */
const MAX_BYTES = 8 * 1024 * 1024
const MAX_ENTRIES = 10_000
// Not blocking: the open of a pipe that nobody writes to would wait for ever.
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)

/** Files inside the grant of the tool: regular files and folders, nothing else. */
export function fsCapability(workspace: string): Capabilities {
  const readable = ({ tool }: OpenCall): FileScope => new FileScope('fs.read', tool.grant.fs.read, workspace)
  const writable = ({ tool }: OpenCall): FileScope => new FileScope('fs.write', tool.grant.fs.write, workspace)
  return {
    async 'fs.read'(call, args) {
      const path = textArgument(args, 0, 'The path')
      const range = readRange(args[2])
      const scope = readable(call)
      const bytes = await scope.inFolder(await scope.locate(path), (folder, name) => readBytes(folder, name, path, range))
      return args[1] === 'bytes' ? bytes.toString('base64') : bytes.toString('utf8')
    },
    async 'fs.list'(call, args) {
      const scope = readable(call)
      return scope.asFolder(await scope.locate(textArgument(args, 0, 'The path')), list)
    },
    async 'fs.stat'(call, args) {
      const path = textArgument(args, 0, 'The path')
      const scope = readable(call)
      return scope.inFolder(await scope.locate(path), (folder, name) => stat(folder, name, path))
    },
    async 'fs.write'(call, args) {
      const path = textArgument(args, 0, 'The path')
      const text = textArgument(args, 2, 'The content', 2 * MAX_BYTES)
      const scope = writable(call)
      const bytes = Buffer.from(text, args[1] === 'bytes' ? 'base64' : 'utf8')
      return scope.inFolder(await scope.locate(path), (folder, name) => replace(folder, name, path, bytes))
    },
    async 'fs.edit'(call, args) {
      const path = textArgument(args, 0, 'The path')
      const [before, after] = [textArgument(args, 1, 'The old text'), textArgument(args, 2, 'The new text')]
      const scope = writable(call)
      return scope.inFolder(await scope.locate(path), async (folder, name) => {
        const pieces = (await readBytes(folder, name, path, {})).toString('utf8').split(before)
        const replacements = pieces.length - 1
        if (before === '' || replacements === 0) {
          throw new BulkheadError('InputInvalid', `The old text does not occur in "${path}".`)
        }
        if (replacements > 1 && args[3] !== true) {
          throw new BulkheadError(
            'InputInvalid',
            `The old text occurs ${replacements} times in "${path}". Make it longer, or replace all.`,
          )
        }
        await replace(folder, name, path, Buffer.from(pieces.join(after)))
        return { replacements }
      })
    },
    async 'fs.remove'(call, args) {
      const path = textArgument(args, 0, 'The path')
      const scope = writable(call)
      return scope.inFolder(await scope.locate(path), async (folder, name) => {
        await regularFile(folder, name, path)
        await unlink(folder.at(name))
        return null
      })
    },
  }
}

interface Range {
  readonly start?: number
  readonly end?: number
}

function readRange(given: Json | undefined): Range {
  if (given === undefined || given === null) return {}
  if (!isJsonObject(given)) throw new BulkheadError('InputInvalid', 'The range is not an object with start and end.')
  const bound = (key: 'start' | 'end'): Range => {
    const value = given[key]
    if (value === undefined) return {}
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return { [key]: value }
    throw new BulkheadError('InputInvalid', `The ${key} of a range must be a whole number of bytes.`)
  }
  return { ...bound('start'), ...bound('end') }
}

async function readBytes(folder: HeldFolder, name: string, path: string, { start = 0, end }: Range): Promise<Buffer> {
  const handle = await open(folder.at(name), READ)
  try {
    const found = await handle.stat()
    if (!found.isFile()) throw notRegular(path)
    const length = Math.max(0, Math.min(end ?? found.size, found.size) - start)
    if (length > MAX_BYTES) {
      throw new BulkheadError(
        'InputInvalid',
        `"${path}" has ${found.size} bytes; at most ${MAX_BYTES} are read at once. Read it in ranges.`,
        { data: { size: found.size } },
      )
    }
    const bytes = Buffer.alloc(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await handle.read(bytes, filled, length - filled, start + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return bytes.subarray(0, filled)
  } finally {
    await handle.close()
  }
}

async function list(folder: HeldFolder): Promise<Json> {
  const entries: DirectoryEntry[] = []
  for await (const entry of await opendir(folder.at('.'))) {
    if (entries.length === MAX_ENTRIES) {
      throw new BulkheadError('OutputTooLarge', `The folder has more than ${MAX_ENTRIES} entries.`)
    }
    entries.push({ name: entry.name.toWellFormed(), kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other' })
  }
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)) as unknown as Json
}

async function stat(folder: HeldFolder, name: string, path: string): Promise<Json> {
  const found = await lstat(folder.at(name))
  if (!found.isFile() && !found.isDirectory()) throw notRegular(path)
  return {
    kind: found.isFile() ? 'file' : 'directory',
    size: found.size,
    modifiedMs: found.mtimeMs,
  } satisfies FileStat as JsonObject
}

/** The new content lands under its name in one step: nobody sees half of it, and no link of that name is followed. */
async function replace(folder: HeldFolder, name: string, path: string, bytes: Buffer): Promise<JsonObject> {
  if (bytes.length > MAX_BYTES) {
    throw new BulkheadError(
      'InputInvalid',
      `"${path}" would get ${bytes.length} bytes; at most ${MAX_BYTES} are written at once.`,
    )
  }
  const existing = await regularFile(folder, name, path).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  const temporary = folder.at(`.${randomUUID()}.tmp`)
  const handle = await open(temporary, CREATE, existing === undefined ? 0o666 : existing.mode & 0o777)
  try {
    await handle.writeFile(bytes)
    await handle.close()
    await rename(temporary, folder.at(name))
  } catch (error) {
    await handle.close().catch(() => undefined)
    await unlink(temporary).catch(() => undefined)
    throw error
  }
  return { bytes: bytes.length, created: existing === undefined }
}

async function regularFile(folder: HeldFolder, name: string, path: string): Promise<{ readonly mode: number }> {
  const found = await lstat(folder.at(name))
  if (!found.isFile()) throw notRegular(path)
  return found
}

const notRegular = (path: string): BulkheadError =>
  new BulkheadError(
    'InputInvalid',
    `"${path}" is not a regular file; folders, links and devices cannot be used so.`,
    { data: { path } },
  )
