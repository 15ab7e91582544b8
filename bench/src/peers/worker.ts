import { createWorker } from 'bulkhead'

// A worker. Its argument says which. Sends one message when it is ready.

const { url, home, capacity, label } = JSON.parse(process.argv[2]!) as
  { readonly url: string; readonly home: string; readonly capacity: number; readonly label: string }
await createWorker({ store: url, home, capacity, labels: [label], ceiling: {} })
process.once('disconnect', () => process.exit())
process.send!('ready')
