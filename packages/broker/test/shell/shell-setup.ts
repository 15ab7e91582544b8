import { execFileSync } from 'node:child_process'
import {
  chmodSync, closeSync, constants, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, writeFileSync,
} from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrokerMethod, CompartmentTool, Power, Shell, ShellRequirement } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { ANY_COMMAND, NO_GRANT } from '@bulkhead/contract'
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

  /** Every command, and the files of the workspace. */
  everything(): Partial<Power> {
    return {
      shell: [{ cmd: ANY_COMMAND, args: [{ rest: true }] }], fs: { read: [this.workspace], write: [this.workspace] },
    }
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
    const script = join(this.root, `${name}.cjs`)
    writeFileSync(script, source)
    // The path of Node may have spaces, which a line with #! cannot have.
    return this.sh(name, `exec '${process.execPath}' '${script}' "$@"`)
  }

  open(grant: Partial<Power>, options: Partial<ShellOptions> = {}, call: Partial<OpenCall> = {}): OpenedShell {
    const tool: CompartmentTool = { name: 'tester', grant: { ...NO_GRANT, ...grant }, inputSchema: {}, requires: {} }
    const path = [this.bin, '/usr/bin', '/bin']
    const capability = shellCapability({
      workspace: this.workspace, tools: [tool], path, choosesWalls: true, ...options,
    })
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

  lifelines(): Lifelines {
    const lifelines = new Lifelines(join(this.root, `lifelines-${this.#lifelines.length}`))
    this.#lifelines.push(lifelines)
    return lifelines
  }

  async clear(): Promise<void> {
    await Promise.all(this.#opened.map((capability) => capability.close()))
    for (const lifelines of this.#lifelines) lifelines.cut()
    rmSync(this.root, { recursive: true })
  }
}

/** Source of a script for `sh` that starts another script, in its own session or without what it would inherit. */
export const starts = (path: string, ...without: readonly ('session' | 'environment' | 'pipes')[]): string => [
  without.includes('session') ? '/usr/bin/setsid' : '', without.includes('environment') ? '/usr/bin/env -i' : '', path,
  without.includes('pipes') ? '</dev/null >/dev/null 2>&1' : '', '&',
].join(' ')

interface Lifeline {
  readonly pid: number
  /** Resolves when the process at the other end has ended. */
  readonly died: Promise<void>
}

/**
 * Processes hold a pipe to the test while they run, so that their start and end are events. They are scripts of the
 * system shell: a process of Node takes ten times as long to start.
 */
export class Lifelines {
  readonly #folder: string
  readonly #gate: string
  readonly #sockets = new Set<Socket>()
  /** The write ends of the test. Without them a pipe would seem to end before its process has opened it. */
  readonly #kept = new Set<number>()
  readonly #lines = new Map<string, Promise<Lifeline>>()

  constructor(folder: string) {
    this.#folder = folder
    this.#gate = join(folder, 'gate')
    mkdirSync(folder)
    execFileSync('mkfifo', [this.#gate])
  }

  /** Resolves when the process of this name has started to hold its pipe. */
  of(label: string): Promise<Lifeline> {
    const line = this.#lines.get(label)
    if (line === undefined) throw new Error(`No script holds ${label}.`)
    return line
  }

  /** Source of a script for `sh` that reports its process and runs until the test lets it go. */
  hold(label: string): string {
    return `${this.report(label)}; read -r go <'${this.#gate}'`
  }

  /** Source that reports its process and goes on. */
  report(label: string): string {
    const path = join(this.#folder, label)
    execFileSync('mkfifo', [path])
    this.#lines.set(label, this.#listen(path))
    return `exec 9>'${path}'; echo $$ >&9`
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
    for (const kept of this.#kept) closeSync(kept)
    this.#kept.clear()
    // Who waits at the gate reads its end, and who comes later does not find it.
    const gate = openSync(this.#gate, 'r+')
    rmSync(this.#gate)
    closeSync(gate)
  }

  #listen(path: string): Promise<Lifeline> {
    const socket = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false })
    const kept = openSync(path, 'w')
    this.#sockets.add(socket)
    this.#kept.add(kept)
    const died = new Promise<void>((resolve) => {
      socket.once('close', () => resolve())
    })
    return new Promise((resolve) => {
      socket.setEncoding('utf8').once('data', (pid: string) => {
        if (this.#kept.delete(kept)) closeSync(kept)
        resolve({ pid: Number(pid), died })
      })
    })
  }
}
