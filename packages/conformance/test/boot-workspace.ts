import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { errorCode } from '@bulkhead/kit/error-message'

const ROOT = resolve(import.meta.dirname, '../../..')
const FIXTURES = join(import.meta.dirname, 'fixtures', 'boot')
export const PNPM = '12.18.0'

export interface Finished {
  readonly code: number | null
  readonly output: string
}

export interface Running {
  readonly child: ChildProcess
  /** Settles once the text was printed. Rejects if the process ends without it. */
  printed(text: string): Promise<void>
  readonly finished: Promise<Finished>
}

/** A temporary workspace of one package with the real `scripts/`. Substitutes for npm and pnpm fetch nothing. */
export class BootWorkspace implements Disposable {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead boot-')))
  readonly gate = join(this.root, 'gate', 'open')
  readonly #journal = join(this.root, 'journal')
  readonly #substitutes = join(this.root, 'substitutes')
  readonly #groups: number[] = []

  constructor() {
    cpSync(join(ROOT, 'scripts'), join(this.root, 'scripts'), { recursive: true })
    this.write('package.json', JSON.stringify({
      private: true,
      packageManager: `pnpm@${PNPM}`,
      scripts: { hello: 'sh hello.sh first' },
      optionalDependencies: { [`node-${process.platform}-${process.arch}`]: process.versions.node },
    }))
    this.write('pnpm-workspace.yaml', 'packages:\n  - packages/*\n')
    this.write('pnpm-lock.yaml', 'lockfileVersion: 9\n\nimporters:\n\n  .: {}\n\n  packages/one: {}\n\npackages: {}\n')
    this.write('packages/one/package.json', '{ "name": "one", "dependencies": { "two": "1.0.0" } }')
    this.write('hello.sh', 'IFS="|"; echo "hello $*"\n')
    mkdirSync(this.#substitutes)
    cpSync(join(FIXTURES, 'npm.sh'), join(this.#substitutes, 'npm'))
    mkdirSync(dirname(this.gate))
  }

  start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Running {
    const child = spawn(process.execPath, [join(this.root, 'scripts', 'boot.mjs'), ...args], {
      env: {
        HOME: this.root,
        PATH: [this.#substitutes, process.env['PATH']].join(delimiter),
        BOOT_JOURNAL: this.#journal,
        BOOT_GATE: this.gate,
        BOOT_PNPM: join(FIXTURES, 'pnpm.sh'),
        BOOT_NODE: process.execPath,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, so that a test that fails leaves nothing running.
      detached: true,
    })
    if (child.pid !== undefined) this.#groups.push(child.pid)
    return watchProcess(child)
  }

  run(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Finished> {
    return this.start(args, environment).finished
  }

  /** How the package managers were called, in order. */
  get calls(): readonly string[] {
    return this.has('journal') ? readFileSync(this.#journal, 'utf8').trim().split('\n') : []
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path))
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true })
    writeFileSync(join(this.root, path), text)
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true })
  }

  [Symbol.dispose](): void {
    for (const group of this.#groups) killGroup(group)
    rmSync(this.root, { recursive: true, force: true })
  }
}

function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

function watchProcess(child: ChildProcess): Running {
  let output = ''
  const finished = once(child, 'close').then(([code]) => ({ code: code as number | null, output }))
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      child.emit('printed')
    })
  }
  return {
    child,
    finished,
    async printed(text) {
      const ended = finished.then(() => {
        if (!output.includes(text)) throw new Error(`ended without “${text}”:\n${output}`)
      })
      while (!output.includes(text)) await Promise.race([once(child, 'printed'), ended])
    },
  }
}
