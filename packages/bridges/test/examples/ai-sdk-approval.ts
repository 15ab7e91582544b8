import { ToolApprovals, toToolApproval, toToolSet } from '@bulkhead/bridges/ai-sdk'
import { generateText, isStepCount, type LanguageModel, type ModelMessage } from 'ai'
import type { Host } from '../../../bulkhead/src/index.ts'

/** A chat whose `send` returns when the model has answered, or when the person has to approve calls. */
export async function openChat(host: Host, model: LanguageModel) {
  const approvals = new ToolApprovals()
  const session = await host.openSession({ approver: approvals })
  const messages: ModelMessage[] = []
  return {
    async send(message: ModelMessage) {
      messages.push(message)
      const { text, content, responseMessages } = await generateText({
        model, messages, tools: toToolSet(session, { approvals }), stopWhen: isStepCount(20),
        toolApproval: toToolApproval(session, session.tools(), approvals),
      })
      messages.push(...responseMessages)
      return { text, toApprove: content.filter((part) => part.type === 'tool-approval-request') }
    },
    close: () => session.close(),
  }
}
