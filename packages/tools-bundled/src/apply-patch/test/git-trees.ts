import { execFileSync } from 'node:child_process'
import {
  chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { has } from '../../../../../scripts/machine.ts'

/** Files by path, each with its content and whether it can be executed. */
export type Tree = Readonly<Record<string, { readonly text: string; readonly executable: boolean }>>

export function writeTree(folder: string, tree: Tree): void {
  for (const name of readdirSync(folder)) if (name !== '.git') rmSync(join(folder, name), { recursive: true })
  for (const [path, { text, executable }] of Object.entries(tree)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
    chmodSync(join(folder, path), executable ? 0o755 : 0o644)
  }
}

export function readTree(folder: string): Tree {
  const tree: Record<string, { text: string; executable: boolean }> = {}
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(folder.length + 1)
    if (!entry.isFile() || name.startsWith('.git/')) continue
    tree[name] = { text: readFileSync(path, 'utf8'), executable: (statSync(path).mode & 0o100) !== 0 }
  }
  return tree
}

/** A repository in which git itself makes and applies patches. */
export class GitFolder {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-git-')))

  constructor() {
    if (has('git')) this.#run(['init', '-q'])
  }

  diff(from: Tree, to: Tree, options: readonly string[]): string {
    return this.#run(['diff', ...options, this.#store(from), this.#store(to)])
  }

  /** What git makes of a tree with a patch. */
  apply(tree: Tree, patch: string): Tree {
    writeTree(this.folder, tree)
    this.#run(['apply', '--unidiff-zero', '--whitespace=nowarn'], patch)
    return readTree(this.folder)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }

  #store(tree: Tree): string {
    writeTree(this.folder, tree)
    this.#run(['add', '-A', '-f', '.'])
    return this.#run(['write-tree']).trim()
  }

  #run(args: readonly string[], input?: string): string {
    const config = ['-c', 'core.autocrlf=false', '-c', 'core.fileMode=true', '-c', 'core.safecrlf=false']
    return execFileSync('git', [...config, ...args], {
      cwd: this.folder, encoding: 'utf8', input,
      env: { PATH: process.env['PATH'], HOME: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
  }
}
