import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrokerMethod, CompartmentTool, Power, Shell, ShellRequirement } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { NO_GRANT } from '@bulkhead/contract'
import { shellAccess } from '../../../sandbox/src/extension/capabilities.ts'
import type { CapabilityUnit, OpenCall } from '../../src/model/capability.ts'
import type { BoundedShellResult } from '../../src/shell/run.ts'
import type { ShellOptions } from '../../src/shell/shell.ts'
import { shellCapability } from '../../src/shell/shell.ts'

const ANY = { wildcard: true } as const

/** A command with up to this many arbitrary arguments. */
export const any = (cmd: string, upTo = 3): ShellRequirement[] =>
  Array.from({ length: upTo + 1 }, (_, count) => ({ cmd, args: Array.from({ length: count }, () => ANY) }))

export interface OpenedShell {
  /** `runtime.shell` of a tool. */
  readonly shell: { run(...args: Parameters<Shell['run']>): Promise<BoundedShellResult> } & Pick<Shell, 'pipe'>
  readonly capability: CapabilityUnit
  readonly updates: Json[]
  /** Cancels the call. */
  cancel(reason: unknown): void
}

/** Folders for commands, a workspace, and shells that use them. `clear` removes everything. */
export class ShellSetup {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-shell-')))
  readonly workspace = join(this.root, 'workspace')
  readonly bin = join(this.root, 'bin')
  readonly #opened: CapabilityUnit[] = []
  readonly #lifelines: Lifelines[] = []

  constructor() {
    mkdirSync(this.workspace)
    mkdirSync(this.bin)
  }

  /** Installs a script as a command. */
  command(name: string, source: string, folder = this.bin): string {
    const path = join(folder, name)
    writeFileSync(path, source)
    chmodSync(path, 0o755)
    return path
  }

  sh(name: string, source: string): string {
    return this.command(name, `#!/bin/sh\n${source}\n`)
  }

  node(name: string, source: string): string {
    return this.command(name, `#!${process.execPath}\n${source}\n`)
  }

  open(grant: Partial<Power>, options: Partial<ShellOptions> = {}, call: Partial<OpenCall> = {}): OpenedShell {
    const tool: CompartmentTool = { name: 'tester', grant: { ...NO_GRANT, ...grant }, inputSchema: {}, requires: {} }
    const path = [this.bin, '/usr/bin', '/bin']
    const capability = shellCapability({ workspace: this.workspace, tools: [tool], path, ...options })
    this.#opened.push(capability)
    const updates: Json[] = []
    const controller = new AbortController()
    const onUpdate = (partial: Json): void => void updates.push(partial)
    const open: OpenCall = { callId: 'call', tool, signal: controller.signal, onUpdate, ...call }
    // Through JSON, as over the wire.
    const ask = async (method: BrokerMethod, ...args: readonly unknown[]): Promise<Json> =>
      JSON.parse(
        JSON.stringify(await capability.capabilities[method]!(open, JSON.parse(JSON.stringify(args)) as Json[])),
      ) as Json
    return {
      shell: shellAccess(ask) as OpenedShell['shell'],
      capability,
      updates,
      cancel: (reason) => controller.abort(reason),
    }
  }

  lifelines(): Promise<Lifelines> {
    const lifelines = new Lifelines(join(this.root, `lifelines-${this.#lifelines.length}`))
    this.#lifelines.push(lifelines)
    return lifelines.listening
  }

  async clear(): Promise<void> {
    await Promise.all(this.#opened.map((capability) => capability.close()))
    await Promise.all(this.#lifelines.map((lifelines) => lifelines.cut()))
    rmSync(this.root, { recursive: true })
  }
}

interface Lifeline {
  readonly pid: number
  /** Resolves when the process at the other end has ended. */
  readonly died: Promise<void>
}

/** Processes hold a connection to the test while they run, so that their start and end are events. */
export class Lifelines {
  readonly listening: Promise<this>
  readonly #path: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #lines = new Map<string, PromiseWithResolvers<Lifeline>>()

  constructor(path: string) {
    this.#path = path
    this.#server = createServer((socket) => this.#accept(socket))
    this.listening = new Promise((resolve) => this.#server.listen(path, () => resolve(this)))
  }

  /** Resolves when the process of this name has connected. */
  of(label: string): Promise<Lifeline> {
    return this.#line(label).promise
  }

  /** Source of a Node script that connects and runs until the test disconnects. */
  hold(label: string): string {
    return `{
      const path = ${JSON.stringify(this.#path)}
      const line = require('node:net').connect(path, () => line.write('${label} ' + process.pid + '\\n'))
      line.on('error', () => process.exit())
      line.on('close', () => process.exit())
    }`
  }

  async cut(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    const died = new Promise<void>((resolve) => {
      socket.once('close', () => resolve())
    })
    socket.on('error', () => undefined)
    socket.setEncoding('utf8').once('data', (text: string) => {
      const [label = '', pid] = text.trim().split(' ')
      this.#line(label).resolve({ pid: Number(pid), died })
    })
  }

  #line(label: string): PromiseWithResolvers<Lifeline> {
    const line = this.#lines.get(label) ?? Promise.withResolvers<Lifeline>()
    this.#lines.set(label, line)
    return line
  }
}
