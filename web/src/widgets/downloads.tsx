// SPDX-License-Identifier: Apache-2.0
// downloads.tsx - the answer that is shown as files.

import { useSource } from '../data/answers';
import type { Request } from '../data/source';
import { state } from '../state/store';

// Without a `csv` there is only JSON.
export function Downloads({ json, csv }: { json: Request; csv?: Request | null }) {
  return (
    <span class="downloads">
      <Download request={json} title="JSON" suffix="json" />
      {csv && <Download request={csv} title="CSV" suffix="csv" />}
    </span>
  );
}

function Download({ request, title, suffix }: { request: Request; title: string; suffix: string }) {
  const address = useSource().address(state.value.trace, request);
  if (!address) return null;
  return (
    <a href={address} download={`${request.view.replace('/', '-')}.${suffix}`} data-download={suffix}>
      {title}
    </a>
  );
}
