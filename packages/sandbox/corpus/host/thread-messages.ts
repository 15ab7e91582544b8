/** Messages of other threads to the host's thread outside the protocol. Each is returned once. */
export function listenForThreads(): () => readonly string[] {
  const received: string[] = []
  const channel = new BroadcastChannel('corpus')
  channel.addEventListener('message', () => void received.push('a broadcast message was received'))
  ;(channel as unknown as { unref(): void }).unref()
  process.on('workerMessage', () => void received.push('a message of a thread was received'))
  return () => received.splice(0)
}
