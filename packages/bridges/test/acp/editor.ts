import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { RequestError, type ClientApp, type CreateTerminalRequest } from '@agentclientprotocol/sdk'

interface Terminal {
  readonly child: ChildProcess
  readonly exited: Promise<{ readonly exitCode: number | null; readonly signal: string | null }>
  output: string
}

/** The files and terminals of an editor: text that is not saved comes before the disk, and terminals are processes. */
export class Editor {
  /** Files that are open and not saved, by path. */
  readonly unsaved = new Map<string, string>()
  readonly read: string[] = []
  readonly written: string[] = []
  readonly commands: CreateTerminalRequest[] = []
  readonly released: string[] = []
  readonly #terminals = new Map<string, Terminal>()

  readonly serve = (app: ClientApp): ClientApp => app
    .onRequest('fs/read_text_file', ({ params: { path } }) => {
      this.read.push(path)
      return { content: this.unsaved.get(path) ?? this.#saved(path) }
    })
    .onRequest('fs/write_text_file', ({ params: { path, content } }) => {
      this.written.push(path)
      this.unsaved.delete(path)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
      return {}
    })
    .onRequest('terminal/create', ({ params }) => this.#start(params))
    .onRequest('terminal/wait_for_exit', ({ params }) => this.#terminals.get(params.terminalId)!.exited)
    .onRequest('terminal/output', ({ params }) =>
      ({ output: this.#terminals.get(params.terminalId)!.output, truncated: false }))
    .onRequest('terminal/kill', ({ params }) => {
      this.#terminals.get(params.terminalId)!.child.kill()
      return {}
    })
    .onRequest('terminal/release', ({ params }) => {
      this.released.push(params.terminalId)
      return {}
    })

  #saved(path: string): string {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      throw RequestError.resourceNotFound(path)
    }
  }

  #start(params: CreateTerminalRequest) {
    this.commands.push(params)
    const child = spawn(params.command, params.args ?? [], {
      cwd: params.cwd ?? undefined, stdio: ['ignore', 'pipe', 'pipe'],
    })
    const exited = new Promise<{ exitCode: number | null; signal: string | null }>((resolve) => {
      child.once('close', (exitCode, signal) => resolve({ exitCode, signal }))
    })
    const terminal: Terminal = { child, exited, output: '' }
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (bytes: Buffer) => { terminal.output += bytes.toString() })
    }
    const terminalId = `t${this.commands.length}`
    this.#terminals.set(terminalId, terminal)
    return { terminalId }
  }
}
