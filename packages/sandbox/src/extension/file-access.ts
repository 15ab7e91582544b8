import { Buffer } from 'node:buffer'
import type {
  DirectoryEntry, Edited, FileChange, FileReader, FilesFound, FileStat, FileWatch, FileWriter, LinesFound, RuntimePart,
} from '@bulkhead/contract'
import type { AskForCall } from './ask.ts'
import { UNDECLARED_FILES } from './undeclared.ts'

/** The file part of a runtime. Bytes cross as base64, texts as they are. */
export function fileAccess(powers: ReadonlySet<RuntimePart>, ask: AskForCall): Partial<FileReader & FileWriter> {
  return Object.freeze({ __proto__: UNDECLARED_FILES, ...(powers.has('fs.read') && reader(ask)), ...(powers.has('fs.write') && writer(ask)) })
}

function reader(ask: AskForCall): FileReader {
  return {
    async read(path, range) {
      return new Uint8Array(Buffer.from(await ask('fs.read', path, 'bytes', range ?? null) as string, 'base64'))
    },
    readText: (path, range) => ask('fs.read', path, 'text', range ?? null) as Promise<string>,
    list: (path) => ask('fs.list', path) as Promise<unknown> as Promise<readonly DirectoryEntry[]>,
    stat: (path) => ask('fs.stat', path) as Promise<unknown> as Promise<FileStat>,
    glob: (pattern, options) => ask('fs.glob', pattern, options ?? null) as Promise<unknown> as Promise<readonly string[]>,
    find: (pattern, options) => ask('fs.find', pattern, options ?? null) as Promise<unknown> as Promise<FilesFound>,
    search: (pattern, options) => ask('fs.search', pattern, options ?? null) as Promise<unknown> as Promise<LinesFound>,
    watch: (path) => watching(ask('fs.watch', path) as Promise<string>, ask),
  }
}

/** It is on from the moment it is asked for. A reader that stops early ends it. */
function watching(id: Promise<string>, ask: AskForCall): FileWatch {
  const started = id.then(() => undefined)
  // Who reads is told; who only asked need not be.
  started.catch(() => undefined)
  const changes = readChanges(id, ask)
  return Object.freeze({ started, [Symbol.asyncIterator]: () => changes })
}

async function* readChanges(id: Promise<string>, ask: AskForCall): AsyncGenerator<FileChange, void, undefined> {
  const watch = await id
  try {
    for (;;) yield* await ask('fs.watch.next', watch) as unknown as readonly FileChange[]
  } finally {
    await ask('fs.watch.next', watch, 'drop').catch(() => undefined)
  }
}

function writer(ask: AskForCall): FileWriter {
  return {
    write: async (path, content) => await ask('fs.write', path, ...encoded(content)) as { bytes: number; created: boolean },
    edit: (path, oldText, newText, options) =>
      ask('fs.edit', path, oldText, newText, options?.all === true) as Promise<unknown> as Promise<Edited>,
    remove: async (path) => void await ask('fs.remove', path),
  }
}

const encoded = (content: string | Uint8Array): readonly [kind: 'text' | 'bytes', content: string] =>
  typeof content === 'string' ? ['text', content] : ['bytes', Buffer.from(content).toString('base64')]
