import { MANIFEST_LIMITS } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { type Access, type ListedContent, MAX_ITEMS } from '../catalog/server-content.ts'
import { LISTED, readableBlock } from './readable-result.ts'

const MAX_LISTED = 2 * MANIFEST_LIMITS.tools
/** A page has at least one item. */
const MAX_PAGES = MAX_LISTED
/** The SDK requires a timeout. The signal of a call has its real deadline. */
export const LONGEST_MS = 2 * 60 * 60 * 1000

/** The last page has no cursor. Some servers send null or an empty string instead. */
const page = z.looseObject({ nextCursor: z.string().nullish().transform((cursor) => cursor || undefined) })

/** The list of tools, unchecked. Rejects if it has too many pages. */
export async function listTools(client: Client, signal: AbortSignal): Promise<readonly unknown[]> {
  if (client.getServerCapabilities()?.tools === undefined) return []
  return listAll(client, 'tools/list', 'tools', MAX_LISTED, signal)
}

/** The lists of resources and prompts, unchecked. A list that fails is empty: a server may announce more than it has. */
export async function listContent(client: Client, signal: AbortSignal): Promise<ListedContent> {
  const { resources, prompts } = client.getServerCapabilities() ?? {}
  const list = (method: string, key: string) => listAll(client, method, key, MAX_ITEMS, signal).catch(() => [])
  return {
    ...(resources && {
      resources: await list('resources/list', 'resources'),
      templates: await list('resources/templates/list', 'resourceTemplates'),
    }),
    ...(prompts && { prompts: await list('prompts/list', 'prompts') }),
  }
}

async function listAll(
  client: Client, method: string, key: string, most: number, signal: AbortSignal,
): Promise<readonly unknown[]> {
  const all: unknown[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const params = cursor === undefined ? {} : { cursor }
    const answer = await client.request({ method, params }, page, { signal, timeout: LONGEST_MS })
    const { [LISTED]: listed = answer[key], nextCursor } = answer
    if (!Array.isArray(listed)) throw new SyntaxError(`The result of ${method} has no list.`)
    all.push(...listed)
    if (nextCursor === undefined || all.length > most) return all
    cursor = nextCursor
  }
  throw new Error(`The list of ${key} has more than ${MAX_PAGES} pages.`)
}

/** Reads a resource or gets a prompt, as the result of a tool. */
export async function useContent(
  client: Client, access: Access, args: JsonObject, signal: AbortSignal,
): Promise<JsonObject> {
  const options = { signal, timeout: LONGEST_MS }
  if (access === 'resources') {
    const request = { method: 'resources/read', params: { uri: args['uri']! } }
    const read = await client.request(request, z.looseObject({}), options)
    const { contents } = read as JsonObject
    return { content: listOf(contents).map((resource) => readableBlock({ type: 'resource', resource })) }
  }
  const { name, arguments: given = {} } = args
  const request = { method: 'prompts/get', params: { name: name!, arguments: given } }
  const got = await client.request(request, z.looseObject({}), options)
  const { description, messages } = got as JsonObject
  return { content: [
    ...(typeof description === 'string' ? [{ type: 'text', text: description }] : []),
    ...listOf(messages).filter(isJsonObject).flatMap(({ role, content }) =>
      [{ type: 'text', text: `${role === 'assistant' ? 'assistant' : 'user'}:` }, readableBlock(content ?? null)]),
  ] }
}

const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value : []
