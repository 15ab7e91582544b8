import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** What a server answered, in the form in which results of MCP are read here. */
export function carriedResult(answer: unknown, redact: (text: string) => string): JsonObject {
  const { content, structuredContent, isError } = JSON.parse(redact(JSON.stringify(answer))) as Record<string, Json | undefined>
  return {
    content: Array.isArray(content) ? content : [],
    ...(structuredContent !== undefined && {
      structuredContent: isJsonObject(structuredContent) ? structuredContent : { result: structuredContent },
    }),
    ...(typeof isError === 'boolean' && { isError }),
  }
}
