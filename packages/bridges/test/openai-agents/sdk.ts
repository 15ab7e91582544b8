// For the tests of packages that do not install the SDK.
import { OpenAIProvider, Runner } from '@openai/agents'
import OpenAI from 'openai'

export { Agent, RunState } from '@openai/agents'

/** A runner that asks the model at an address, and sends no traces. */
export const runnerAt = (url: string): Runner =>
  new Runner({
    modelProvider: new OpenAIProvider({
      openAIClient: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }), useResponses: true,
    }),
    tracingDisabled: true,
  })
