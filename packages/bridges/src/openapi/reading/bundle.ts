import { partPath } from '@bulkhead/kit/document-parts'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { Unusable } from './api-description.ts'

/** A document of several files. */
export interface DocumentFiles {
  /** The name of the first file, which others may refer to. */
  readonly name: string
  readonly text: string
  /** The other files by their paths, relative to the folder of the first. */
  readonly parts: readonly (readonly [path: string, text: string])[]
}

const PARTS = 'x-bulkhead-parts'

/** Moves the other files into the document, and rewrites all references. A file is parsed when it is needed. */
export function bundle({ name, text, parts }: DocumentFiles, parse: (text: string) => Json): Json {
  const document = parse(text)
  if (!isJsonObject(document) || parts.length === 0) return document
  const keys = keysOf(parts.map(([path]) => path))
  const pointerOf = (from: string, reference: string): string => {
    const fragment = /#.*$/s.exec(reference)?.[0].slice(1) ?? ''
    const path = reference.startsWith('#') ? from : partPath(from, reference)
    const key = path === undefined ? undefined : keys.get(path)
    if (path === name) return `#${fragment}`
    return key === undefined ? reference : `#/${PARTS}/${key}${fragment}`
  }
  const files: JsonObject = Object.create(null) as JsonObject
  for (const [path, content] of parts) {
    let parsed: Json | undefined
    Object.defineProperty(files, keys.get(path)!, {
      enumerable: true,
      get() {
        parsed ??= rewritten(parsePart(path, content, parse), (reference) => pointerOf(path, reference))
        return parsed
      },
    })
  }
  return { ...rewritten(document, (reference) => pointerOf(name, reference)) as JsonObject, [PARTS]: files }
}

/** Words for names of definitions, each once. */
function keysOf(paths: readonly string[]): ReadonlyMap<string, string> {
  const keys = new Map<string, string>()
  const taken = new Set<string>()
  for (const path of paths.toSorted()) {
    // The end of a path says more than its beginning, and names of definitions are cut.
    const plain = path.replaceAll(/[^A-Za-z0-9]/g, '_').slice(-48)
    let key = plain
    for (let count = 2; taken.has(key); count++) key = `${plain}_${count}`
    taken.add(key)
    keys.set(path, key)
  }
  return keys
}

function parsePart(path: string, text: string, parse: (text: string) => Json): Json {
  try {
    return parse(text)
  } catch (error) {
    throw error instanceof Unusable ? new Unusable(`refers to the file "${path}", which ${error.message}`) : error
  }
}

function rewritten(value: Json, change: (reference: string) => string): Json {
  if (Array.isArray(value)) return value.map((one: Json) => rewritten(one, change))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) =>
    [key, key === '$ref' && typeof one === 'string' ? change(one) : rewritten(one, change)]))
}
