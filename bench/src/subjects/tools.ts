import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { createHost } from 'bulkhead'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'

/** The folder of the workspace with the many files. */
const TREE = 'tree'
const FOLDERS = 1_000
const FILES_IN_EACH = 100
const FILES = FOLDERS * FILES_IN_EACH
/** Each folder has one note. Every fifth note contains the needle. */
const NOTES = FOLDERS
const NEEDLES = FOLDERS / 5
const READ_BYTES = 100 * 1024
const EDIT_BYTES = 1024 * 1024

/** A workspace with many files and a host. The sides of a run share it, and the last `release` removes it. */
interface ToolWorkspace {
  readonly workspace: string
  /** Resolves with the data of the outcome. Rejects for an error outcome. */
  call(name: string, args: unknown): Promise<unknown>
  release(): Promise<void>
}

let shared: { readonly opened: Promise<Opened>; users: number } | undefined

type Opened = Omit<ToolWorkspace, 'release'> & { close(): Promise<void> }

async function shareWorkspace(): Promise<ToolWorkspace> {
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
    const text = `const value${file} = ${at}\n`.repeat(8) + last
    return writeFile(join(folder, `f${file}.${isNote ? 'md' : file % 3 === 0 ? 'json' : 'ts'}`), text)
  }))
}

const LINE = 'A line of text as there are many in a file of code.\n'
const textOf = (bytes: number, first: string): string =>
  `${first}\n${LINE.repeat(Math.ceil(bytes / LINE.length))}`.slice(0, bytes)
const TEXT = textOf(READ_BYTES, 'to be read')

const readTool = {
  name: 'read',
  answer: () => TEXT,
  start: async (): Promise<Runner> => {
    const { workspace, call, release } = await shareWorkspace()
    await writeFile(join(workspace, 'read.txt'), TEXT)
    return {
      run: async () => ((await call('read', { path: 'read.txt' })) as { readonly content: string }).content,
      stop: release,
    }
  },
} as const satisfies Side

/** A call that stores an empty list has the cost of the pipeline and hardly any work of its own. */
const readTwice = {
  name: 'twice fs.readFile and one pipeline',
  answer: () => TEXT,
  start: async (): Promise<Runner> => {
    const { workspace, call, release } = await shareWorkspace()
    const path = join(workspace, 'read-bare.txt')
    await writeFile(path, TEXT)
    return {
      run: async () => {
        await call('todo', { todos: [] })
        await readFile(path, 'utf8')
        return readFile(path, 'utf8')
      },
      stop: release,
    }
  },
} as const satisfies Side

const marked = (i: number): string => `<<${i}>>`

const editTool = {
  name: 'edit',
  answer: () => 1,
  start: async (): Promise<Runner> => {
    const { workspace, call, release } = await shareWorkspace()
    await writeFile(join(workspace, 'edit.txt'), textOf(EDIT_BYTES, marked(0)))
    return {
      run: async (i) => {
        const edited = await call('edit', { path: 'edit.txt', old_string: marked(i), new_string: marked(i + 1) })
        return (edited as { readonly replacements: number }).replacements
      },
      stop: release,
    }
  },
} as const satisfies Side

const readAndWrite = {
  name: 'reading and writing',
  answer: (i: number) => i,
  start: async (): Promise<Runner> => {
    const { workspace, release } = await shareWorkspace()
    const path = join(workspace, 'edit-bare.txt')
    await writeFile(path, textOf(EDIT_BYTES, marked(0)))
    return {
      run: async (i) => {
        await writeFile(path, await readFile(path))
        return i
      },
      stop: release,
    }
  },
} as const satisfies Side

/** Runs ripgrep and counts its output lines. */
async function countLines(args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(rgPath, [...args], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  let lines = 0
  child.stdout.on('data', (bytes: Buffer) => {
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++
  })
  const [code] = await once(child, 'close') as [number]
  if (code !== 0) throw new Error(`ripgrep exited with code ${code}`)
  return lines
}

const bare = <const Name extends string>(name: Name, args: readonly string[], lines: number) => ({
  name,
  answer: () => lines,
  start: async (): Promise<Runner> => {
    const { workspace, release } = await shareWorkspace()
    return { run: () => countLines(args, join(workspace, TREE)), stop: release }
  },
}) as const satisfies Side

const tool = <const Name extends string>(name: Name, args: unknown, total: number) => ({
  name,
  answer: () => total,
  start: async (): Promise<Runner> => {
    const { call, release } = await shareWorkspace()
    return { run: async () => ((await call(name, args)) as { readonly total: number }).total, stop: release }
  },
}) as const satisfies Side

const bareSearch = bare('bare rg', ['needle', './'], NEEDLES)
const bareList = bare('rg --files', ['--files', './'], FILES)
const grepTool = tool('grep', { pattern: 'needle', path: TREE }, NEEDLES)
const globTool = tool('glob', { pattern: '**/*.md', path: TREE }, NOTES)

export const tools = defineSubject({
  title: `Bundled tools over ${FILES} files, and the programs and functions they use`,
  compares: 'Complete calls through the facade: grep and glob against ripgrep, read of 100 KB and edit of 1 MB against '
    + 'node:fs.',
  sides: [bareSearch, grepTool, bareList, globTool, readTwice, readTool, readAndWrite, editTool],
  modes: [{ kind: 'latency' }],
  ratios: [
    { side: 'grep', measure: 'p50', against: 'bare rg' },
    { side: 'glob', measure: 'p50', against: 'rg --files' },
    { side: 'read', measure: 'p50', against: 'twice fs.readFile and one pipeline' },
    { side: 'edit', measure: 'p50', against: 'reading and writing' },
  ],
})
