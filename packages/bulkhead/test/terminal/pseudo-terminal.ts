import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'

export const KEYS = { enter: '\r', up: '\u001b[A', down: '\u001b[B' } as const

const BIN = join(import.meta.dirname, '../../src/bin.ts')
const MANY = join(import.meta.dirname, '../fixtures/terminal-commands.ts')
const SIZE = { cols: 100, rows: 40 }

/** The command in a pseudo terminal, with a terminal emulator that renders its output. */
export class PseudoTerminal {
  readonly #child: ChildProcess
  readonly #screen = new xterm.Terminal({ ...SIZE, scrollback: 5_000, allowProposedApi: true })
  readonly #looks = new Set<() => void>()
  #bytes = ''

  constructor(args: readonly string[], cwd: string, program = BIN) {
    const words = args.map((_, index) => `"$ARG${index}"`).join(' ')
    // Arguments are passed in the environment, so no shell parses them.
    const env = {
      NO_COLOR: '1', TERM: 'xterm-256color', SHELL: '/bin/sh', PATH: '/usr/bin:/bin', HOME: join(cwd, 'home'),
      XDG_CACHE_HOME: CACHE, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], NODE: process.execPath,
      BIN: program, BUNDLED: BUNDLED.join('='),
      ...Object.fromEntries(args.map((arg, index) => [`ARG${index}`, arg])),
    }
    const command = `stty rows ${SIZE.rows} cols ${SIZE.cols}; exec "$NODE" $BUNDLED "$BIN" ${words}`
    this.#child = spawn('script', ['-q', '-e', '-f', '-c', command, '/dev/null'], {
      cwd, env, stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#bytes += text
      this.#screen.write(text, () => { for (const look of this.#looks) look() })
    })
  }

  /** All bytes that were sent to the terminal. */
  get bytes(): string {
    return this.#bytes
  }

  /** The rendered screen, with its scrollback. */
  get rows(): readonly string[] {
    const { active } = this.#screen.buffer
    return Array.from({ length: active.length }, (_, index) => active.getLine(index)!.translateToString(true))
  }

  /** Waits until this many rows contain the text. */
  async see(text: string, times = 1): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const look = () => { if (this.rows.filter((row) => row.includes(text)).length >= times) resolve() }
    const gone = () =>
      reject(new Error(`The command ended before it showed "${text}":\n${this.rows.join('\n').trim()}`))
    this.#looks.add(look)
    this.#child.stdout!.once('close', gone)
    look()
    try {
      await promise
    } finally {
      this.#looks.delete(look)
      this.#child.stdout!.off('close', gone)
    }
  }

  press(...keys: readonly string[]): void {
    for (const key of keys) this.#child.stdin!.write(key)
  }

  /** Resolves with the exit code of the command. */
  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null) await once(this.#child, 'close')
    await new Promise<void>((drawn) => { this.#screen.write('', drawn) })
    return this.#child.exitCode
  }
  /** Clears the screen, for a next command in the same terminal. */
  protected clear(): void {
    this.#bytes = ''
    this.#screen.reset()
  }
}

/** Commands in one pseudo terminal and one process, because starting it takes most of the time of a command. */
export class SharedTerminal extends PseudoTerminal implements AsyncDisposable {
  readonly #server = createServer()
  readonly #connected: Promise<Socket>

  constructor(cwd: string) {
    const path = join(cwd, 'commands')
    super([path], cwd, MANY)
    this.#server.listen(path)
    this.#connected = once(this.#server, 'connection').then(([socket]) => socket as Socket)
  }

  async run(args: readonly string[]): Promise<void> {
    this.clear()
    const socket = await this.#connected
    socket.write(`${JSON.stringify(args)}\n`)
  }

  /** Resolves with the exit code of the last command. */
  override async ended(): Promise<number | null> {
    await this.see('exit code ')
    return Number(/^exit code (\d)/m.exec(this.rows.join('\n'))![1])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const socket = await this.#connected
    socket.destroy()
    await super.ended()
    this.#server.close()
  }
}
