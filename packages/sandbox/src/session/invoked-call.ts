import type { CompartmentTool, ToolInvocation } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { OpenCall } from '@bulkhead/broker'

/** A call as the broker knows it. Its signal is made for the first capability that needs one. */
export class InvokedCall implements OpenCall {
  readonly callId: string
  readonly tool: CompartmentTool
  readonly invocation: ToolInvocation
  declare effects?: NonNullable<OpenCall['effects']>

  constructor(callId: string, tool: CompartmentTool, invocation: ToolInvocation) {
    this.callId = callId
    this.tool = invocation.grant === undefined ? tool : { ...tool, grant: invocation.grant }
    this.invocation = invocation
  }

  get hostCallId(): string {
    return this.invocation.callId
  }

  get signal(): AbortSignal {
    return this.invocation.signal
  }

  onProgress(text: string): void {
    this.invocation.onProgress?.(text)
  }

  onUpdate(partial: Json): void {
    this.invocation.onUpdate?.(partial)
  }
}
