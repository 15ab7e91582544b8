import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import { EDIT_BYTES, FILES, NEEDLES, NOTES, READ_BYTES, shareWorkspace, TREE } from '../loads/tool-workspace.ts'

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

export const subject = defineSubject({
  title: `Bundled tools over ${FILES} files, and the programs and functions they use`,
  compares: 'Complete calls through the facade: grep and glob against ripgrep, read of 100 KB and edit of 1 MB against '
    + 'node:fs.',
  sides: [bareSearch, grepTool, bareList, globTool, readTwice, readTool, readAndWrite, editTool],
  modes: [{ kind: 'latency' }],
  goals: [
    { side: 'grep', measure: 'p50', is: '≤', ratio: 1.3, against: 'bare rg' },
    { side: 'glob', measure: 'p50', is: '≤', ratio: 1.5, against: 'rg --files' },
    { side: 'read', measure: 'p50', is: '≤', ratio: 1, against: 'twice fs.readFile and one pipeline' },
    { side: 'edit', measure: 'p50', is: '≤', ratio: 3, against: 'reading and writing' },
  ],
})
