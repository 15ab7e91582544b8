// For the tests of packages that do not install the SDK.
import { OpenAI } from '@llamaindex/openai'

export { agent, agentToolCallResultEvent } from '@llamaindex/workflow'

export const llmAt = (url: string): OpenAI => new OpenAI({ model: 'gpt-4o', apiKey: 'none', baseURL: `${url}/v1` })
