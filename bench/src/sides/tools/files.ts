import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runner, Side } from '../../harness/subject.ts'
import { EDIT_BYTES, READ_BYTES, shareGround } from './ground.ts'

const LINE = 'A line of text as there are many in a file of code.\n'
const textOf = (bytes: number, first: string): string =>
  `${first}\n${LINE.repeat(Math.ceil(bytes / LINE.length))}`.slice(0, bytes)
const TEXT = textOf(READ_BYTES, 'to be read')

export const readTool = {
  name: 'read',
  answer: () => TEXT,
  start: async (): Promise<Runner> => {
    const { workspace, call, release } = await shareGround()
    await writeFile(join(workspace, 'read.txt'), TEXT)
    return {
      run: async () => ((await call('read', { path: 'read.txt' })) as { readonly content: string }).content,
      stop: release,
    }
  },
} as const satisfies Side

/** A call of a tool that only keeps an empty list has the whole way of a call and nothing at its end. */
export const readTwice = {
  name: 'twice fs.readFile and one pipeline',
  answer: () => TEXT,
  start: async (): Promise<Runner> => {
    const { workspace, call, release } = await shareGround()
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

export const editTool = {
  name: 'edit',
  answer: () => 1,
  start: async (): Promise<Runner> => {
    const { workspace, call, release } = await shareGround()
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

export const readAndWrite = {
  name: 'reading and writing',
  answer: (i: number) => i,
  start: async (): Promise<Runner> => {
    const { workspace, release } = await shareGround()
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
