/** Whether an answer of somebody else's code is still to come. Their promises may be of another library, or of another realm. */
export const isPromiseLike = <Value>(answer: Value | PromiseLike<Value>): answer is PromiseLike<Value> =>
  answer instanceof Promise || typeof (answer as { readonly then?: unknown } | null | undefined)?.then === 'function'
