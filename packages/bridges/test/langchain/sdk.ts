// For the tests of packages that do not install the SDK.
export { AIMessage, ToolMessage } from '@langchain/core/messages'
export { isStructuredTool, type StructuredToolInterface } from '@langchain/core/tools'
export { convertToOpenAITool } from '@langchain/core/utils/function_calling'
