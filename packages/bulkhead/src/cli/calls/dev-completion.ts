import type { ToolManifest } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** What the prompt of `dev` does besides calling tools. */
export const DEV_COMMANDS = {
  '.tools': 'list the tools and their arguments',
  '.powers': 'compare what the tools used with what they declare',
  '.reload': 'build the folder again',
  '.help': 'show this list',
  '.exit': 'stop (also: Ctrl-D)',
} as const

/**
 * Completions of a line, and the part of it that they complete: names of tools and commands, then names of arguments
 * and their fixed values from the input schema.
 */
export function complete(line: string, tools: readonly ToolManifest[]): [completions: string[], part: string] {
  const [, name = '', rest] = /^(\S*)(\s.*)?$/s.exec(line) ?? []
  if (rest === undefined) {
    const names = [...tools.map((tool) => `${tool.name} `), ...Object.keys(DEV_COMMANDS)]
    return [names.filter((one) => one.startsWith(name)), name]
  }
  const tool = tools.find((one) => one.name === name)
  return tool === undefined ? [[], ''] : completeArguments(rest, tool.inputSchema)
}

function completeArguments(text: string, { properties }: JsonObject): [string[], string] {
  const known = isJsonObject(properties) ? properties : {}
  if (text.trim() === '') return [['{ '], '']
  const value = /"([^"]*)"\s*:\s*([^,{}]*)$/.exec(text)
  if (value !== null) {
    const [, key = '', begun = ''] = value
    return [valuesOf(known[key]).filter((one) => one.startsWith(begun)), begun]
  }
  const begun = text.slice(Math.max(...['{', ',', ' '].map((before) => text.lastIndexOf(before))) + 1)
  const given = new Set([...text.matchAll(/"([^"]*)"\s*:/g)].map(([, key]) => key))
  const keys = Object.keys(known).filter((key) => !given.has(key)).map((key) => `"${key}": `)
  return [keys.filter((key) => key.startsWith(begun.startsWith('"') ? begun : `"${begun}`)), begun]
}

function valuesOf(schema: Json | undefined): readonly string[] {
  if (!isJsonObject(schema)) return []
  const { enum: listed, const: only, type } = schema
  const values = Array.isArray(listed) ? listed : only === undefined ? type === 'boolean' ? [true, false] : [] : [only]
  return values.map((value) => JSON.stringify(value))
}
