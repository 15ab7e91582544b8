// For the tests of packages that do not install the SDK.
export { Agent } from '@mastra/core/agent'

export const modelAt = (url: string) => ({ id: 'openai/loopback' as const, url: `${url}/v1`, apiKey: 'none' })
