import { isJsonObject, type Json, type JsonObject } from '@bulkhead/contract'

const BLOCKS: ReadonlySet<string> = new Set(['text', 'image', 'audio', 'resource_link', 'resource'])

/** What a server answered, in the form in which results of MCP are read here. What is not of it is said or left out. */
export function carriedResult(answer: unknown, redact: (text: string) => string): JsonObject {
  const { content, structuredContent, isError } = JSON.parse(redact(JSON.stringify(answer))) as Record<string, Json | undefined>
  return {
    content: Array.isArray(content) ? content.map(block) : [],
    ...(structuredContent !== undefined && {
      structuredContent: isJsonObject(structuredContent) ? structuredContent : { result: structuredContent },
    }),
    ...(typeof isError === 'boolean' && { isError }),
  }
}

function block(part: Json): Json {
  if (isJsonObject(part) && typeof part['type'] === 'string' && BLOCKS.has(part['type'])) return part
  return { type: 'text', text: '[content of a kind that is not known here]' }
}
