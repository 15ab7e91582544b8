import {
  chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Outcome } from '@bulkhead/contract'
import { createHost, defineTool, type CreateHostOptions, type Host, type Session } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { NO_PAUSE } from '../extension-folder.ts'

/** Removes a file or an empty folder: no bundled tool does only that. */
const discard = defineTool({
  name: 'discard', description: 'Removes a file.', requires: { fs: { write: ['{workspace}'] } },
  input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
  execute: async ({ path }, { fs }) => {
    await fs.remove(path)
    return 'removed'
  },
})

/** A host with a workspace. Disposing it removes both. */
export class UndoWorld implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-undo-')))
  readonly workspace = join(this.folder, 'ws')
  readonly home = join(this.folder, 'home')
  readonly #hosts: Host[] = []
  #calls = 0

  constructor() {
    mkdirSync(this.workspace)
  }

  async open(options: Partial<CreateHostOptions> = {}): Promise<Host> {
    const host = await createHost({
      workspace: this.workspace, home: this.home, cache: CACHE, trust: 'declined',
      config: { ...NO_PAUSE, sandbox: { spares: { process: 0 } } }, ...options,
    })
    await host.register(discard)
    this.#hosts.push(host)
    return host
  }

  /** The data of a call, or the code and text of its error. */
  async call(session: Session, name: string, args: object, id = `call-${++this.#calls}`): Promise<unknown> {
    return dataOf(await session.call({ id, name, arguments: args as never }))
  }

  write(path: string, content: string | Buffer, mode = 0o644): void {
    mkdirSync(dirname(join(this.workspace, path)), { recursive: true })
    writeFileSync(join(this.workspace, path), content)
    chmodSync(join(this.workspace, path), mode)
  }

  /** Sparse files with more content than is recorded before a command. */
  exceedLimits(): void {
    for (let index = 0; index < 257; index++) {
      this.write(`large/${index}`, '')
      truncateSync(join(this.workspace, 'large', String(index)), 1024 ** 2 - 1)
    }
  }

  read(path: string): string {
    return readFileSync(join(this.workspace, path), 'utf8')
  }

  /** Every file with content and mode, and every folder with its mode. */
  tree(): Readonly<Record<string, string>> {
    const names = (readdirSync(this.workspace, { recursive: true }) as string[]).toSorted()
    return Object.fromEntries(names.map((name) => {
      const path = join(this.workspace, name)
      const found = lstatSync(path)
      const mode = (found.mode & 0o777).toString(8)
      return [name, found.isDirectory() ? `folder ${mode}` : `${mode} ${readFileSync(path, 'latin1')}`]
    }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts) await host.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

const dataOf = (outcome: Outcome): unknown =>
  outcome.type === 'output' ? outcome.data : `${outcome.error.code}: ${outcome.error_text}`
