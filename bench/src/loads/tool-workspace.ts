import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, type Session } from 'bulkhead'

/** The folder of the workspace with the many files. */
export const TREE = 'tree'
const FOLDERS = 1_000
const FILES_IN_EACH = 100
export const FILES = FOLDERS * FILES_IN_EACH
/** Each folder has one note. Every fifth note contains the needle. */
export const NOTES = FOLDERS
export const NEEDLES = FOLDERS / 5
export const READ_BYTES = 100 * 1024
export const EDIT_BYTES = 1024 * 1024

/** A workspace with many files and a host. The sides of a run share it, and the last `release` removes it. */
export interface ToolWorkspace {
  readonly workspace: string
  readonly session: Session
  /** Resolves with the data of the outcome. Rejects for an error outcome. */
  call(name: string, args: unknown): Promise<unknown>
  release(): Promise<void>
}

let shared: { readonly opened: Promise<Opened>; users: number } | undefined

type Opened = Omit<ToolWorkspace, 'release'> & { close(): Promise<void> }

export async function shareWorkspace(): Promise<ToolWorkspace> {
  const mine = shared ??= { opened: openWorkspace(), users: 0 }
  mine.users++
  const { close, ...parts } = await mine.opened
  return {
    ...parts,
    async release() {
      if (--mine.users > 0) return
      shared = undefined
      await close()
    },
  }
}

async function openWorkspace(): Promise<Opened> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const workspace = join(folder, 'workspace')
  for (let at = 0; at < FOLDERS; at++) {
    const path = [`p${at % 10}`, `q${Math.floor(at / 10) % 10}`, `r${Math.floor(at / 100)}`]
    await fillFolder(join(workspace, TREE, ...path), at)
  }
  const host = await createHost({ workspace, home: join(folder, 'home'), trust: 'declined' })
  opened.defer(async () => void (await host.close()))
  const session = await host.openSession({ mode: 'yolo' })
  const started = opened.move()
  let calls = 0
  return {
    workspace,
    session,
    async call(name, args) {
      const outcome = await session.call({ id: `c${++calls}`, name, arguments: args })
      if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
      return outcome.data
    },
    close: () => started.disposeAsync(),
  }
}

async function fillFolder(folder: string, at: number): Promise<void> {
  await mkdir(folder, { recursive: true })
  await Promise.all(Array.from({ length: FILES_IN_EACH }, (_, file) => {
    const isNote = file === 7
    const last = isNote && at % 5 === 0 ? 'the needle is here\n' : 'hay\n'
    const text = `export const value${file} = ${at}\n`.repeat(8) + last
    return writeFile(join(folder, `f${file}.${isNote ? 'md' : file % 3 === 0 ? 'json' : 'ts'}`), text)
  }))
}
