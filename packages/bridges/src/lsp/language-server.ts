import { basename, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  BulkheadError, type CodeDiagnostic, type CodeLocation, type CodeSymbol, type SourceFile, type TextPosition,
} from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { LocalTarget } from '../connected/local-server.ts'
import { ServerProcess } from '../connected/server-process.ts'
import { readDiagnostics, readHover, readLocations, readSymbols, uriOf } from './answers.ts'
import { answerTo, CLIENT_CAPABILITIES, PROVIDERS } from './client-capabilities.ts'
import { JsonRpcPeer, ResponseError } from './json-rpc.ts'
import { languageOf } from './known-servers.ts'
import { MessageReader } from './message-reader.ts'
import { OpenDocuments } from './open-documents.ts'
import { PublishedDiagnostics } from './published-diagnostics.ts'
import { ServerActivity } from './server-activity.ts'
import { WorkspaceChanges } from './workspace-changes.ts'

export interface LanguageServerOptions {
  /** In messages. */
  readonly name: string
  readonly target: LocalTarget
  readonly self: { readonly name: string; readonly version: string }
  /** Removes secrets from what the server sends. */
  redact(text: string): string
  /** How long published diagnostics may still change. */
  readonly settleMs?: number | undefined
  /** Must not throw. */
  onStderr(line: string): void
}

/** The server had no time to answer, or the text changed meanwhile. */
const TRY_AGAIN: ReadonlySet<number> = new Set([-32_801, -32_802])
const TRIES = 20
const PAUSE_MS = 250
/** For servers that publish diagnostics, after they have read the file. Some publish none for a file without any. */
const PUBLISH_MS = 10_000
const SETTLE_MS = 2_000
/** Below the deadline of a call, so that the message can say what the server does. */
const LOADING_MS = 45_000

/** One running language server. */
export class LanguageServer {
  /** Resolves when its process has ended. */
  readonly ended: Promise<Error>
  readonly #options: LanguageServerOptions
  readonly #workspace: string
  readonly #process: ServerProcess
  readonly #peer: JsonRpcPeer
  readonly #activity = new ServerActivity()
  readonly #published: PublishedDiagnostics
  readonly #documents: OpenDocuments
  readonly #changes: WorkspaceChanges
  #capabilities: JsonObject = {}

  constructor(options: LanguageServerOptions) {
    const { target, redact, onStderr } = options
    const messages = new MessageReader()
    const ended = Promise.withResolvers<Error>()
    this.ended = ended.promise
    this.#options = options
    this.#workspace = target.cwd
    this.#process = new ServerProcess({
      ...target, onStderr,
      onOutput: (chunk) => messages.read(chunk).forEach((body) => this.#peer.receive(redact(body))),
      onEnd: (fault) => {
        const error = fault ?? new Error('it exited')
        this.#peer.end(error)
        ended.resolve(error)
      },
    })
    this.#peer = new JsonRpcPeer((data) => this.#process.write(data), {
      onRequest: (method, params) => answerTo(method, params, this.#root()),
      onNotification: (method, params) => {
        this.#activity.notice(method, params)
        if (method === 'textDocument/publishDiagnostics') this.#published.notice(params)
      },
    })
    this.#documents = new OpenDocuments(this.#peer)
    this.#published = new PublishedDiagnostics(options.settleMs ?? SETTLE_MS)
    this.#changes = new WorkspaceChanges(target.cwd)
  }

  /** Resolves when the server is initialized. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#process.start()
    const root = this.#root()
    const answer = await this.#peer.request('initialize', {
      // In a jail, the process of the client does not exist.
      processId: null, clientInfo: this.#options.self, rootUri: root.uri, workspaceFolders: [root],
      capabilities: CLIENT_CAPABILITIES,
    }, signal)
    const capabilities = isJsonObject(answer) ? answer['capabilities'] : undefined
    this.#capabilities = isJsonObject(capabilities) ? capabilities : {}
    const encoding = this.#capabilities['positionEncoding'] ?? 'utf-16'
    if (encoding !== 'utf-16') throw new Error('It counts columns in an encoding that the client did not offer.')
    this.#peer.notify('initialized', {})
    await this.#changes.look(signal)
  }

  async close(): Promise<void> {
    const signal = AbortSignal.timeout(PAUSE_MS)
    await this.#peer.request('shutdown', undefined, signal).catch(() => undefined)
    this.#peer.notify('exit')
    await this.#process.close()
  }

  async locations(
    method: 'textDocument/definition' | 'textDocument/references', file: SourceFile, position: TextPosition,
    signal: AbortSignal,
  ): Promise<readonly CodeLocation[]> {
    const textDocument = await this.#open(file, method, signal)
    const context: JsonObject =
      method === 'textDocument/references' ? { context: { includeDeclaration: true } } : {}
    const answer = await this.#ask(method, { textDocument, position: { ...position }, ...context }, signal)
    return readLocations(answer, this.#workspace)
  }

  async hover(file: SourceFile, position: TextPosition, signal: AbortSignal): Promise<string> {
    const textDocument = await this.#open(file, 'textDocument/hover', signal)
    return readHover(await this.#ask('textDocument/hover', { textDocument, position: { ...position } }, signal))
  }

  async symbols(file: SourceFile, signal: AbortSignal): Promise<readonly CodeSymbol[]> {
    const textDocument = await this.#open(file, 'textDocument/documentSymbol', signal)
    const answer = await this.#ask('textDocument/documentSymbol', { textDocument }, signal)
    return readSymbols(answer, this.#workspace, file.path)
  }

  async findSymbols(file: SourceFile, query: string, signal: AbortSignal): Promise<readonly CodeSymbol[]> {
    await this.#open(file, 'workspace/symbol', signal)
    return readSymbols(await this.#ask('workspace/symbol', { query }, signal), this.#workspace)
  }

  /** Asks for them, or waits until they are published. */
  async diagnostics(file: SourceFile, signal: AbortSignal): Promise<readonly CodeDiagnostic[]> {
    const pulls = this.#supports('textDocument/diagnostic')
    await this.#tellChanges(signal)
    const document = this.#documents.sync(this.#uriOf(file), languageOf(file.path), file.text, !pulls)
    if (pulls) {
      const { identifier } = this.#diagnosticOptions()
      const params = { textDocument: { uri: document.uri }, ...(identifier !== undefined && { identifier }) }
      const answer = await this.#ask('textDocument/diagnostic', params, signal)
      return readDiagnostics(isJsonObject(answer) ? answer['items'] : undefined)
    }
    const waiting = new AbortController()
    const report = this.#published.settled(document, AbortSignal.any([signal, waiting.signal]))
    report.catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    try {
      await this.#loaded(signal)
      // The answer shows that the server has read the file.
      const textDocument = { uri: document.uri }
      await this.#ask('textDocument/documentSymbol', { textDocument }, signal).catch((error: unknown) => {
        if (!(error instanceof ResponseError)) throw error
      })
      timer = setTimeout(() => waiting.abort(this.#late('did not report on the file')), PUBLISH_MS)
      return readDiagnostics(await report)
    } finally {
      clearTimeout(timer)
      waiting.abort()
    }
  }

  /** Rejects with ServerUnavailable if the server is still busy after a while. */
  async #loaded(signal: AbortSignal): Promise<void> {
    const patience = AbortSignal.timeout(LOADING_MS)
    await this.#activity.untilQuiet(AbortSignal.any([signal, patience])).catch((error: unknown) => {
      throw patience.aborted && !signal.aborted ? this.#late('is still loading the project') : error
    })
  }

  #late(what: string): BulkheadError {
    const message = `The language server "${this.#options.name}" ${what}. Try again later, or use other tools.`
    return new BulkheadError('ServerUnavailable', message, { data: { server: this.#options.name } })
  }

  #diagnosticOptions(): JsonObject {
    const options = this.#capabilities['diagnosticProvider']
    return isJsonObject(options) ? options : {}
  }

  #root(): { readonly uri: string; readonly name: string } {
    return { uri: uriOf(this.#workspace), name: basename(this.#workspace) }
  }

  #uriOf({ path }: SourceFile): string {
    return uriOf(resolve(this.#workspace, path))
  }

  #supports(method: string): boolean {
    const provider = this.#capabilities[PROVIDERS.get(method)!]
    return provider !== undefined && provider !== null && provider !== false
  }

  /** Rejects with CapabilityUnavailable if the server does not support the method. */
  async #open(file: SourceFile, method: string, signal: AbortSignal): Promise<JsonObject> {
    if (!this.#supports(method)) {
      const what = ACTIONS.get(method) ?? method
      const message = `The language server "${this.#options.name}" does not support ${what}.`
      throw new BulkheadError('CapabilityUnavailable', `${message} Use another action, or grep.`)
    }
    await this.#tellChanges(signal)
    return { uri: this.#documents.sync(this.#uriOf(file), languageOf(file.path), file.text).uri }
  }

  async #tellChanges(signal: AbortSignal): Promise<void> {
    const changes = (await this.#changes.look(signal)).map(({ path, type }) => ({ uri: uriOf(path), type }))
    for (const { uri } of changes) this.#documents.close(uri)
    if (changes.length > 0) this.#peer.notify('workspace/didChangeWatchedFiles', { changes })
  }

  /** An empty answer counts only if the server has loaded the project. */
  async #ask(method: string, params: JsonObject, signal: AbortSignal): Promise<Json> {
    for (let tries = 1; ; tries++) {
      const { isBusy, changes } = this.#activity
      try {
        const answer = await this.#peer.request(method, params, signal)
        const isSettled = !isBusy && changes === this.#activity.changes
        if (!isEmpty(answer) || isSettled || tries > TRIES) return answer
      } catch (error) {
        if (!(error instanceof ResponseError) || !TRY_AGAIN.has(error.code) || tries > TRIES) throw error
        await pause(PAUSE_MS, signal)
      }
      await this.#loaded(signal)
    }
  }
}

const ACTIONS: ReadonlyMap<string, string> = new Map([
  ['textDocument/definition', 'definition'], ['textDocument/references', 'references'], ['textDocument/hover', 'hover'],
  ['textDocument/documentSymbol', 'symbols'], ['workspace/symbol', 'workspace_symbols'],
])

const isEmpty = (answer: Json): boolean => answer === null || (Array.isArray(answer) && answer.length === 0)

/** Rejects with the signal's reason. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(ms, undefined, { signal }).catch(() => { throw signal.reason })
