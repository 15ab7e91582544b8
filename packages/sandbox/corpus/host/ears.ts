/** What reaches the host's own thread from another by ways that are nobody's: told once. */
export function listenForThreads(): () => readonly string[] {
  const heard: string[] = []
  const channel = new BroadcastChannel('corpus')
  channel.addEventListener('message', () => void heard.push('a broadcast was heard'))
  ;(channel as unknown as { unref(): void }).unref()
  process.on('workerMessage', () => void heard.push('a message of a thread was heard'))
  return () => heard.splice(0)
}
