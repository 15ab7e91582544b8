import { expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import * as acp from '../src/acp/index.ts'
import * as anthropic from '../src/anthropic/index.ts'
import * as deepseek from '../src/deepseek.ts'
import * as gemini from '../src/gemini/index.ts'
import * as lsp from '../src/lsp/index.ts'
import * as mcp from '../src/mcp/index.ts'
import * as openai from '../src/openai/index.ts'
import * as openapiExtension from '../src/openapi/extension.ts'
import * as openapi from '../src/openapi/index.ts'
import * as otel from '../src/otel.ts'
import * as text from '../src/text/index.ts'

it('exports exactly this', () => {
  expect(Object.keys(acp).toSorted()).toEqual(['connectAcp', 'toToolCall', 'toToolContent', 'toolKind'])
  expect(Object.keys(anthropic).toSorted())
    .toEqual(['ToolUseStream', 'fromToolUse', 'reportTools', 'toMessagesTools', 'toToolResult'])
  expect(Object.keys(gemini).toSorted())
    .toEqual(['FunctionCallStream', 'fromFunctionCall', 'reportTools', 'toFunctionDeclarations', 'toFunctionResponse'])
  expect(Object.keys(lsp)).toEqual(['ConfiguredLanguageServers'])
  expect(Object.keys(mcp).toSorted()).toEqual([
    'McpServers', 'deliverOverMcp', 'isToken', 'loadLateCode', 'serveTools', 'serveToolsOverHttp',
  ])
  expect(Object.keys(deepseek).toSorted())
    .toEqual(['ToolCallStream', 'fromToolCall', 'reportTools', 'toFunctionTools', 'toToolMessage'])
  expect(Object.keys(openai).toSorted()).toEqual([
    'ResponseCallStream', 'ToolCallStream', 'fromResponseItems', 'fromToolCall', 'reportTools', 'toFunctionCallOutput',
    'toFunctionTool', 'toFunctionTools', 'toResponseTools', 'toToolMessage',
  ])
  expect(Object.keys(openapi).toSorted()).toEqual(['OpenapiDocuments', 'describeDocument', 'documentThread'])
  expect(Object.keys(openapiExtension).toSorted()).toEqual(['RESULT', 'openapiExtension'])
  expect(Object.keys(otel)).toEqual(['traceTools'])
  expect(Object.keys(text).toSorted()).toEqual(['fromAnswer', 'toInstructions', 'toResultsMessage'])
})

/** Each loads the SDK of a vendor, which takes as long as all the others. */
const WITH_SDK: readonly [string, () => Promise<object>, readonly string[]][] = [
  [
    'the AI SDK', () => import('../src/ai-sdk/index.ts'),
    ['ToolApprovals', 'toModelOutput', 'toToolApproval', 'toToolCallRepair', 'toToolSet'],
  ],
  [
    'the Claude Agent SDK', () => import('../src/claude-agent/index.ts'),
    ['ToolApprovals', 'toCanUseTool', 'toClaudeServer'],
  ],
  ['LangChain', () => import('../src/langchain/index.ts'), ['toLangChainTools']],
  ['LlamaIndex', () => import('../src/llamaindex/index.ts'), ['toLlamaIndexTools']],
  ['Mastra', () => import('../src/mastra/index.ts'), ['ToolApprovals', 'toMastraTools']],
  ['the SDK for agents of OpenAI', () => import('../src/openai-agents/index.ts'), ['ToolApprovals', 'toAgentTools']],
]

it.each(thoroughly([], WITH_SDK))('exports exactly this for %s', async (_, entry, names) => {
  expect(Object.keys(await entry()).toSorted()).toEqual(names)
})
