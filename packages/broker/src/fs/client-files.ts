import { isUtf8 } from 'node:buffer'
import { lstat } from 'node:fs/promises'
import { BulkheadError, type ClientCall, type FileStat, type WorkspaceClient } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import type { OpenCall } from '../model/capability.ts'
import { fileState, readState, type BeforeChange } from './change-record.ts'
import type { FileScope } from './file-scope.ts'
import type { ResolvedPath } from './path-policy.ts'
import { MAX_BYTES, readFile, statFile } from './read-file.ts'

/** The client of the session that a call belongs to. */
export type ClientOf = (callId: string) => WorkspaceClient | undefined

/** Files that one call has read. More are asked for again. */
const MOST_KEPT = 64

/**
 * Text files of the workspace as the client of a session has them: an editor may have changes that are not saved. A
 * path is checked before the client gets it. The client opens it itself, so a link that replaces it after the check is
 * followed. Binary files, long files and files outside the workspace are those of the disk.
 */
export class ClientFiles {
  readonly #clientOf: ClientOf
  /** By call, so that sizes and ranges in one call are of the same text. */
  readonly #read = new Map<string, Map<string, Buffer>>()

  constructor(clientOf: ClientOf) {
    this.#clientOf = clientOf
  }

  /** The files for a call. undefined if its session has no client for files. */
  of(call: OpenCall): CallFiles | undefined {
    const callId = call.hostCallId ?? call.callId
    const client = this.#clientOf(callId)
    if (client?.readText === undefined && client?.writeText === undefined) return undefined
    const kept = this.#read.get(call.callId) ?? new Map<string, Buffer>()
    this.#read.set(call.callId, kept)
    return new CallFiles(client, { callId, signal: call.signal }, kept)
  }

  endCall(callId: string): void {
    this.#read.delete(callId)
  }
}

class CallFiles {
  readonly #client: WorkspaceClient
  readonly #call: ClientCall
  readonly #kept: Map<string, Buffer>

  constructor(client: WorkspaceClient, call: ClientCall, kept: Map<string, Buffer>) {
    this.#client = client
    this.#call = call
    this.#kept = kept
  }

  /** Whether an edit reads and writes the same file: the text of the client. */
  get isWhole(): boolean {
    return this.#client.readText !== undefined && this.#client.writeText !== undefined
  }

  /** undefined: read the disk. */
  async read(scope: FileScope, resolved: ResolvedPath): Promise<Buffer | undefined> {
    const known = this.#kept.get(resolved.real)
    if (known !== undefined) return known
    if (this.#client.readText === undefined || !await scope.isInWorkspace(resolved)) return undefined
    const isSaved = await scope.lstat(resolved) !== undefined
    if (isSaved && !await isShortText(scope, resolved)) return undefined
    const asked = this.#ask('read', resolved, this.#client.readText(scope.pathOf(resolved), this.#call))
    const text = await (isSaved ? asked : asked.catch(() => this.#call.signal.throwIfAborted()))
    if (text === undefined) return undefined
    const bytes = Buffer.from(text)
    if (bytes.length > MAX_BYTES) {
      throw new BulkheadError('OutputTooLarge', `The client has more than ${MAX_BYTES} bytes for "${resolved.given}".`)
    }
    return this.#keep(resolved, bytes)
  }

  /** undefined: write to the disk. */
  async write(
    scope: FileScope, resolved: ResolvedPath, bytes: Buffer, before: BeforeChange,
  ): Promise<JsonObject | undefined> {
    if (this.#client.writeText === undefined || bytes.length > MAX_BYTES || !isText(bytes)) return undefined
    if (!await scope.isInWorkspace(resolved)) return undefined
    const existing = await scope.lstat(resolved)
    if (existing !== undefined && existing.kind !== 'file') return undefined
    // Creates missing folders that the grant covers, and checks that the folder is still in place.
    await scope.inCreatedFolder(resolved, async (folder, name) => {
      if (before.record === undefined) return
      const found = existing && await lstat(folder.at(name))
      const { state, content } = await readState(folder.at(name), found)
      // The client may have text that is not saved.
      const text = await this.read(scope, resolved)
      await before.record({
        path: scope.pathOf(resolved), after: fileState(bytes, found?.mode ?? 0o644),
        ...(text && state.kind === 'file'
          ? { before: fileState(text, state.mode), content: text } : { before: state, content }),
      })
    }, before)
    await before.begin?.()
    await this.#ask('write', resolved, this.#client.writeText(scope.pathOf(resolved), bytes.toString(), this.#call))
    this.#keep(resolved, bytes)
    return { bytes: bytes.length, created: existing === undefined }
  }

  #keep({ real }: ResolvedPath, bytes: Buffer): Buffer {
    if (this.#kept.size >= MOST_KEPT) this.#kept.delete(this.#kept.keys().next().value!)
    this.#kept.set(real, bytes)
    return bytes
  }

  async #ask<Answer>(verb: string, { given }: ResolvedPath, answer: Promise<Answer>): Promise<Answer> {
    try {
      return await untilAborted(answer, this.#call.signal)
    } catch (error) {
      this.#call.signal.throwIfAborted()
      throw new BulkheadError('ToolExecutionFailed', `The client could not ${verb} "${given}": ${messageOf(error)}`)
    }
  }
}

async function isShortText(scope: FileScope, resolved: ResolvedPath): Promise<boolean> {
  const { kind, size } = await statFile(scope, resolved) as unknown as FileStat
  return kind === 'file' && size <= MAX_BYTES && isText(await readFile(scope, resolved, {}))
}

const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0)
