/** Unhandled rejections and warnings of the process during a run. */
export function listenForNoise(): { stop(): readonly string[] } {
  const messages: string[] = []
  const rejected = (reason: unknown) => { messages.push(`unhandled rejection with ${String(reason)}`) }
  const warned = (warning: Error) => { messages.push(`the process warns: ${warning.message}`) }
  process.on('unhandledRejection', rejected)
  process.on('warning', warned)
  return {
    stop() {
      process.off('unhandledRejection', rejected)
      process.off('warning', warned)
      return messages
    },
  }
}
