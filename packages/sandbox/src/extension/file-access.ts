import { Buffer } from 'node:buffer'
import type {
  DirectoryEntry, Edited, FileChange, FileReader, FilesFound, FileStat, FileWatch, FileWriter, LinesFound, RuntimePart,
} from '@bulkhead/contract'
import type { CallBroker } from './broker-calls.ts'
import { UNDECLARED_FILES } from './undeclared.ts'

/** Files. Bytes cross as base64, strings as they are. */
export function fileAccess(powers: ReadonlySet<RuntimePart>, callBroker: CallBroker): Partial<FileReader & FileWriter> {
  return Object.freeze({ __proto__: UNDECLARED_FILES, ...(powers.has('fs.read') && reader(callBroker)), ...(powers.has('fs.write') && writer(callBroker)) })
}

function reader(callBroker: CallBroker): FileReader {
  return {
    async read(path, range) {
      return new Uint8Array(Buffer.from(await callBroker('fs.read', path, 'bytes', range ?? null) as string, 'base64'))
    },
    readText: (path, range) => callBroker('fs.read', path, 'text', range ?? null) as Promise<string>,
    list: (path) => callBroker('fs.list', path) as Promise<unknown> as Promise<readonly DirectoryEntry[]>,
    stat: (path) => callBroker('fs.stat', path) as Promise<unknown> as Promise<FileStat>,
    glob: (pattern, options) => callBroker('fs.glob', pattern, options ?? null) as Promise<unknown> as Promise<readonly string[]>,
    find: (pattern, options) => callBroker('fs.find', pattern, options ?? null) as Promise<unknown> as Promise<FilesFound>,
    search: (pattern, options) => callBroker('fs.search', pattern, options ?? null) as Promise<unknown> as Promise<LinesFound>,
    watch: (path) => watching(callBroker('fs.watch', path) as Promise<string>, callBroker),
  }
}

/** It starts with the call. A reader that stops early ends it. */
function watching(id: Promise<string>, callBroker: CallBroker): FileWatch {
  const started = id.then(() => undefined)
  // A reader gets the error; without one there is nothing to report.
  started.catch(() => undefined)
  const changes = readChanges(id, callBroker)
  return Object.freeze({ started, [Symbol.asyncIterator]: () => changes })
}

async function* readChanges(id: Promise<string>, callBroker: CallBroker): AsyncGenerator<FileChange, void, undefined> {
  const watch = await id
  try {
    for (;;) yield* await callBroker('fs.watch.next', watch) as unknown as readonly FileChange[]
  } finally {
    await callBroker('fs.watch.next', watch, 'drop').catch(() => undefined)
  }
}

function writer(callBroker: CallBroker): FileWriter {
  return {
    write: async (path, content) => await callBroker('fs.write', path, ...encoded(content)) as { bytes: number; created: boolean },
    edit: (path, oldText, newText, options) =>
      callBroker('fs.edit', path, oldText, newText, options?.all === true) as Promise<unknown> as Promise<Edited>,
    remove: async (path) => void await callBroker('fs.remove', path),
  }
}

const encoded = (content: string | Uint8Array): readonly [kind: 'text' | 'bytes', content: string] =>
  typeof content === 'string' ? ['text', content] : ['bytes', Buffer.from(content).toString('base64')]
