import type { Tool } from '@modelcontextprotocol/server'
import { hasEffects, type ToolDefinition } from '@bulkhead/contract'

/** A tool as an MCP client is told of it. Our names are legal there as they are. */
export function listedTool(tool: ToolDefinition): Tool {
  const { name, label: title, description, inputSchema, outputSchema } = tool
  return {
    name, title, description,
    // Arguments are an object, also where the schema does not say so.
    inputSchema: { ...structuredClone(inputSchema), type: 'object' } as Tool['inputSchema'],
    ...(outputSchema ? { outputSchema: structuredClone(outputSchema) as NonNullable<Tool['outputSchema']> } : {}),
    annotations: { title, ...hintsOf(tool) },
  }
}

/** What a tool is able to do counts, not only what it says of itself; in doubt a client is told of more than will happen. */
function hintsOf({ mode, requires, idempotent, executor }: ToolDefinition) {
  const isRemote = executor === 'remote'
  const mayChange = hasEffects(requires)
  const reachesOut = mode === 'external' || mode === 'local' || isRemote
    || (requires.net?.hosts?.length ?? 0) > 0 || (requires.shell?.length ?? 0) > 0
  return {
    readOnlyHint: mode === 'read' && !mayChange && !isRemote,
    destructiveHint: mode === 'destructive' || mode === 'local' || (mode !== 'read' && isRemote) || mayChange,
    idempotentHint: idempotent,
    openWorldHint: reachesOut,
  }
}
