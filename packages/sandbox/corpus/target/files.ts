import { lstatSync } from 'node:fs'
import {
  link, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, utimes, writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Long ago, so that on most mounts the next read changes the access time. */
const ACCESSED = new Date(1_000_000)
const MODIFIED = new Date(2_000_000)

/** Each contains the secret, and none is granted. */
const SECRETS = [
  'host/secret.txt', 'host/.env', 'outside/secret.txt', 'outside/folder/secret.txt', 'work/secret.txt',
  'work/ownx/secret.txt',
  'work/exact', 'work/exact.txt.bak', 'work/exact-too.txt', 'wxrk/secret.txt', 'a/secret.txt', 'b/secret.txt',
] as const
const PLAIN = {
  'work/own/hello.txt': 'hello\n', 'work/exact.txt': 'fine\n', 'outside/linked.txt': 'linked\n', 'outside/log.txt': '',
  'w*rk/own/hello.txt': 'hello\n', 'a,b/own/hello.txt': 'hello\n', 'work/own/first/secret.txt': 'nothing here\n',
} as const
/** In the workspace, and not writable for any tool. */
const PROTECTED = {
  'work/.bulkhead/config.json': '{"mode":"ask"}', 'work/node_modules/dep/index.js': 'ours', 'work/.git/config': 'ours',
} as const
/** Links inside the granted folder. */
const LINKS = {
  'work/own/rel-file': '../../outside/secret.txt',
  'work/own/rel-folder': '../../outside/folder',
  'work/own/chain-1': 'chain-2',
  'work/own/chain-2': 'chain-3',
  'work/own/chain-3': '../../outside',
  'work/own/root': '/proc/self/root',
  'work/own/out/rel-file': '../../../outside/secret.txt',
  'work/own/out/rel-folder': '../../../outside/folder',
  'work/own/out/layer': '../../.bulkhead',
  'work/own/out/modules': '../../node_modules',
} as const
const SOCKET = 'listen.sock'
const HARD_LINKED = 'outside/linked.txt'
const FOLDERS = ['host', 'outside', 'outside/folder', 'work', 'work/ownx', 'wxrk', 'a', 'b'] as const

/** The files around an attack. The state of files outside the grant is recorded. */
export class TargetFiles {
  readonly root: string
  /** The path of a Unix socket. Outside the watched folders, because creating it would be a change. */
  readonly socketPath: string
  readonly #secret: string
  readonly #before = new Map<string, string>()
  /** Whether this file system records that a file was read. */
  #showsReads = false

  private constructor(root: string, secret: string) {
    this.root = root
    this.socketPath = join(root, SOCKET)
    this.#secret = secret
  }

  static async create(secret: string): Promise<TargetFiles> {
    const files = new TargetFiles(await realpath(await mkdtemp(join(tmpdir(), 'bulkhead-corpus-'))), secret)
    await files.#write()
    return files
  }

  /** The files that have changed or were read. */
  touched(): readonly string[] {
    return [...this.#before].filter(([path, before]) => this.#look(path) !== before)
      .map(([path]) => `${path} was touched`)
  }

  /** Creates all files anew. The root folder stays, because other processes have it open. */
  async restore(): Promise<void> {
    for (const name of await readdir(this.root)) {
      if (name !== SOCKET) await rm(join(this.root, name), { recursive: true, force: true })
    }
    await this.#write()
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true, force: true })
  }

  async #write(): Promise<void> {
    const secret = this.#secret
    const at = (path: string): string => join(this.root, path)
    for (const path of SECRETS) await this.#file(path, path.endsWith('.env')
      ? `CANARY_FROM_FILE=${secret}\n` : `${secret}\n`)
    for (const [path, text] of Object.entries({ ...PLAIN, ...PROTECTED })) await this.#file(path, text)
    await mkdir(at('work/own/out'), { recursive: true })
    for (const [path, target] of Object.entries(LINKS)) await symlink(target, at(path))
    await symlink(at('outside/secret.txt'), at('work/own/abs-file'))
    await symlink(at('outside/folder'), at('work/own/abs-folder'))
    await symlink(at('outside/folder'), at('work/own/second'))
    await link(at(HARD_LINKED), at('work/own/out/hard'))
    const store = new DatabaseSync(at('outside/store.sqlite'))
    store.exec(`CREATE TABLE canary (text TEXT); INSERT INTO canary VALUES ('${secret}')`)
    store.close()
    const watched = [
      ...SECRETS, ...Object.keys(PROTECTED), HARD_LINKED, 'outside/log.txt', 'outside/store.sqlite',
      'work/own/hello.txt', 'work/exact.txt', ...FOLDERS,
    ]
    for (const path of watched) await utimes(at(path), ACCESSED, MODIFIED)
    this.#showsReads = await this.#canShowReads()
    for (const path of watched) this.#before.set(path, this.#look(path))
  }

  async #file(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.root, path)), { recursive: true })
    await writeFile(join(this.root, path), text)
  }

  /** The state of a file without reading its content. Not in the thread pool, which takes longer than the call. */
  #look(path: string): string {
    // The broker lists folders of the workspace: for the way its file system folds names, and for what a wall masks.
    const granted = path.startsWith('work/own/') || ['work/exact.txt', 'work', 'work/ownx'].includes(path)
    // A write to its second name replaces that name, so the link count changes.
    const named = path === HARD_LINKED
    try {
      const { mode, size, mtimeMs, ctimeMs, atimeMs, ino } = lstatSync(join(this.root, path))
      return [mode, size, mtimeMs, named ? 0 : ctimeMs, ino, this.#showsReads && !granted ? atimeMs : 0].join(' ')
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code)
    }
  }

  async #canShowReads(): Promise<boolean> {
    const probe = join(this.root, 'probe')
    await writeFile(probe, 'x')
    await utimes(probe, ACCESSED, MODIFIED)
    await readFile(probe)
    return (await lstat(probe)).atimeMs !== ACCESSED.getTime()
  }
}
